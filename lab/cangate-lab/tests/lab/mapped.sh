# A gateway on two mapped controllers of the timed bench, with an interface beside each.
for n in 0 1; do
	echo del gw$n > /dev/bitcan
	echo add gw$n bus=$n model=mapped > /dev/bitcan
	echo add can$n bus=$n model=mscan > /dev/bitcan
	ip link set can$n type can bitrate 500000
	ip link set can$n up
done
for mode in poll interrupt; do
	{
		for n in 0 1; do
			printf '[ports.gw%s]\nkind = "direct"\ndevice = "/dev/bitcan-gw%s"\n' $n $n
			printf 'bitrate = 500000\nmode = "%s"\n' $mode
		done
		printf '[[routes]]\nfrom = ["gw0"]\nto = ["gw1"]\n'
	} > /tmp/gateway.toml
	cangate run -q /tmp/gateway.toml &
	gateway=$!
	sleep 1
	candump -L can1 > /tmp/came &
	dump=$!
	sleep 0.2
	for frame in 123#1122334455667788 12345678#R3 7FF#; do
		cansend can0 $frame
	done
	sleep 0.2
	echo "$mode: $(cut -d' ' -f3 /tmp/came | tr '\n' ' ')"
	# In use: it stays.
	echo del gw0 > /dev/bitcan || echo "$mode: in use"
	# A second process does not get it.
	cp /tmp/gateway.toml /tmp/other.toml
	cangate run -q /tmp/other.toml 2>&1 | grep -o 'in use by another process' | head -1
	# Frames that go wrong are sent again.
	echo fault bus=1 node=gw1 frame=1 count=1 kind=bit bit=20 > /dev/bitcan
	cansend can0 124#01
	sleep 0.2
	echo "$mode: $(tail -1 /tmp/came | cut -d' ' -f3)"
	kill -9 $gateway
	kill $dump
	wait
	grep gw /dev/bitcan
done
echo del gw0 > /dev/bitcan
ls /dev/bitcan*
