# The only program that loads the PMIx library.
spur_binary(spurpmix spurpmix.cc spur_pmix)
