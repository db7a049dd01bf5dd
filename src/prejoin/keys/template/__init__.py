"""Key templates: values to keys and back, encodings and specs."""
