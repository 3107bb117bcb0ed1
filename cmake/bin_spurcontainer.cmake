# The only program that loads libarchive.
spur_binary(spurcontainer spurcontainer.cc spur_container)
