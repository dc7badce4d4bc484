ip route add 192.168.1.0/24 via 10.3.0.4
ip route add 192.168.2.0/24 via 10.3.0.5
