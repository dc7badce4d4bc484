netsh interface ipv4 set address "vEthernet (HNSTransparent)" addr=192.168.1.1
route add 192.168.0.0 mask 255.255.255.0 192.168.0.1 if 12 -p
route add 192.168.2.0 mask 255.255.255.0 192.168.2.1 if 12 -p
