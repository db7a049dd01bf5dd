"""Published designs in corpus form (a YAML file each), turned into our documents. Their solutions are not read here."""
