"""Data sets to Minari and from there.

Minari (https://minari.farama.org) keeps a data set as one HDF5 group an episode. Ours hold more
than it has a place for, so the header goes along in its metadata, and what went there comes back
equal to the bit.
"""
