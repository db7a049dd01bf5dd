"""Converts published designs in corpus form (YAML files) into our documents and, for comparison, into designs."""
