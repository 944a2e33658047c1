# The tester on character devices, alone and beside an interface, through can-gw on interfaces of the same buses.
cd /tmp
for n in 0 1; do
	echo del gw$n > /dev/bitcan
	echo add can$n bus=$n model=mscan > /dev/bitcan
	ip link set can$n type can bitrate 500000
	ip link set can$n up
	for m in 0 1; do echo add t$n$m bus=$n model=chardev-sja1000 > /dev/bitcan; done
done
echo add can2 bus=0 model=mscan > /dev/bitcan
ip link set can2 type can bitrate 500000
ip link set can2 up
modprobe can-gw && cangw -A -s can0 -d can1 -e
sleep 1
# What is wrong is said first.
cangate bench --send /dev/t00 --receive /dev/t10
echo "status $?"
cangate bench --send /dev/t09 --receive /dev/t10 --bitrate 500k
echo "status $?"
bench() {
	cangate bench "$@" --bitrate 500k --frames 200 --json > result || cat result
	echo "figures $(grep -e '"lost"' -e '"received"' -e '"p50"' result | tr -d ' \n')"
}
# The sender's echo; another device of the bus; an interface beside a device.
bench --send /dev/t00 --receive /dev/t10
bench --send /dev/t00 --reference /dev/t01 --receive /dev/t10
bench --send can2 --reference /dev/t01 --receive /dev/t10 --traffic flood
echo del t10 > /dev/bitcan
cangate bench --send /dev/t00 --receive /dev/t10 --bitrate 500k
echo "status $?"
echo "== done"
