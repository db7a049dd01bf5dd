"""The grammar of the document's cells and lists: one file for each construct, with its reader and its writer."""
