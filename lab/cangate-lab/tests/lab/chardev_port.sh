# A gateway on two character devices that meets what happens to devices: taken away and put back, shared with
# another process, flooded, killed.
cd /tmp
. /lab/two_devices.sh
printf '[[routes]]\nfrom = "gw0"\nto = "gw1"\n' >> gateway.toml
start() {
	cangate run gateway.toml 2>> said &
	gateway=$!
	sleep 0.5
	candump -L can1 > came &
	dump=$!
	sleep 0.2
}
start
cangate check gateway.toml | grep 'character device'
cansend can0 101#01
sleep 0.1
# Its file stays open: it hangs up, and the port looks for the device.
echo del gw1 > /dev/bitcan
sleep 0.2
cansend can0 102#02
sleep 0.1
echo add gw1 bus=1 model=chardev-sja1000 > /dev/bitcan
sleep 1
cansend can0 103#03
sleep 0.2
echo "came $(cut -d' ' -f3 came | tr '\n' ' ')"
cangate stats gateway.toml | grep -e '^ port' -e '^ gw' -e ' received = ' | tr -s ' '
grep -o 'port gw1: .*' said
# Another process has the device, too: it hears what the gateway sends, and does not disturb it.
cangate ping --config gateway.toml --slave gw1 > /dev/null 2>&1 &
other=$!
sleep 0.5
# Back to back, as fast as the bus is.
cangen can0 -g 0 -n 2000 -I 200 -L 8 -D i
sleep 1
echo "flood $(grep -c ' 200#' came)"
kill -9 $other
kill -9 $gateway
sleep 0.3
kill $dump
grep gw /dev/bitcan
# Both kinds of driver on one bus, by the same command.
cangate ping -q --count 20 --period 0 can0 /dev/gw0 | grep -o '20 sent, 20 answered'
# The controllers are on their buses; the next gateway takes them as they are.
sed -i 's/^bitrate.*//' gateway.toml
start
cansend can0 104#04
sleep 0.1
echo "came $(cut -d' ' -f3 came | tr '\n' ' ')"
kill $gateway
wait $gateway
echo "status $?"
# With other settings than it runs with it is not taken.
printf '[ports.gw0]\nkind = "chardev"\nbitrate = "250k"\n[ports.gw1]\nkind = "chardev"\n[[routes]]\nfrom = "gw0"\nto = "gw1"\n' > gateway.toml
cangate run gateway.toml 2>&1 | grep -o '/dev/gw0 runs with other settings, at 500000 bit/s'
sed -i 's/^bitrate.*/device = "\/dev\/null"/' gateway.toml
cangate run gateway.toml 2>&1 | grep -o '/dev/null is not a CAN controller of the driver canchar'
sed -i 's/null/nothing/' gateway.toml
cangate run gateway.toml 2>&1 | grep -o 'there is no /dev/nothing: is the driver loaded'
