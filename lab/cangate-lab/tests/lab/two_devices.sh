# Two buses, each with a character device and an interface: gw0 and can0 on bus 0, gw1 and can1 on bus 1. gateway.toml has
# the two devices as ports.
for n in 0 1; do
	echo del gw$n > /dev/bitcan
	echo add gw$n bus=$n model=chardev-sja1000 > /dev/bitcan
	echo add can$n bus=$n model=mscan > /dev/bitcan
	ip link set can$n type can bitrate 500000
	ip link set can$n txqueuelen 4000 up
	printf '[ports.gw%s]\nkind = "chardev"\nbitrate = "500k"\n' $n >> gateway.toml
done
