# What a controller that is no interface has to do beside passing classic frames: FD, one-shot, bus-off and
# back, listen-only. Its model is the argument. Each part prints `== NAME`, what came, and how the controllers and the gateway counted.
cd /tmp
model=$1
case $model in
mapped) port='kind = "direct"\nmode = "interrupt"\ndevice = "/dev/bitcan-gw%s"\n%b\n' ;;
*) port='kind = "chardev"\nbitrate = "500k"\ndevice = "/dev/gw%s"\n%b\n' ;;
esac
# Everything anew: controllers, interfaces beside them; bit rates as `ip link` has them.
ends() {
	for n in 0 1 2; do
		echo del can$n > /dev/bitcan
	done 2>/dev/null
	for n in 0 1; do
		echo del gw$n > /dev/bitcan
		echo add gw$n bus=$n model=$model > /dev/bitcan
		echo add can$n bus=$n model=mscan > /dev/bitcan
		ip link set can$n type can bitrate 500000 $1
		ip link set can$n up
	done
	# Acknowledges on bus 0 where nobody else does.
	echo add can2 bus=0 model=mscan > /dev/bitcan
	ip link set can2 type can bitrate 500000 $1
}
# Starts the gateway: name, settings of port gw0, settings of port gw1.
gateway() {
	echo "== $1"
	{
		printf "[ports.gw0]\n$port" 0 "$2"
		printf "[ports.gw1]\n$port" 1 "$3"
		printf '[[routes]]\nfrom = "gw0"\nto = "gw1"\n'
	} > gateway.toml
	cangate run gateway.toml 2> said &
	gateway=$!
	sleep 0.3
	candump -L can1 > came &
	dump=$!
	sleep 0.2
}
# What came beside frames of 001, and what is counted.
told() {
	sleep 0.2
	echo "came $(cut -d' ' -f3 came | grep -v '^001#' | tr '\n' ' ')"
	cangate stats gateway.toml | grep -e '^ port' -e '^ gw' -e ' received = ' | tr -s ' '
	kill -INT $gateway
	wait $gateway
	echo "status $?"
	kill $dump
	grep gw /dev/bitcan
	grep -o 'port gw1: [a-z -]*' said
}

ends 'dbitrate 2000000 fd on'
gateway fd 'data_bitrate = "2M"' 'data_bitrate = "2M"'
cansend can0 123##1
cansend can0 123##01122334455667788
cansend can0 1ABCDEF0##1112233445566778899AABBCC
cansend can0 7FF##1$(printf '%0128d' 7)
cansend can0 456#R2
told

ends
gateway one-shot '' 'one_shot = true'
cansend can0 101#01
sleep 0.05
# Once: it is not tried again.
echo fault bus=1 node=gw1 frame=1 count=1 kind=bit bit=20 > /dev/bitcan
cansend can0 102#02
sleep 0.1
cansend can0 103#03
sleep 0.1
# can1 always has a frame of higher priority, as long as this lasts.
cangen can1 -g 0.1 -i -n 1000 -I 001 -L 8 & other=$!
sleep 0.05
cansend can0 104#04
wait $other
cansend can0 105#05
told

ends
gateway bus-off '' 'restart = "50ms"'
cansend can0 201#01
sleep 0.05
echo fault bus=1 node=gw1 frame=1 count=32 kind=bit bit=20 > /dev/bitcan
cansend can0 202#02
sleep 0.3
cansend can0 203#03
told

ends
ip link set can2 up
gateway listen-only 'listen_only = true' ''
cansend can0 301#01
sleep 0.1
ip link set can2 down
# Nobody acknowledges: no frame ends.
cansend can0 302#02
sleep 0.1
ip -d link show can0 | grep -o 'ERROR-[A-Z]*'
ip link set can2 up
told

ends
gateway listen-only-out '' 'listen_only = true'
cansend can0 401#01
told
echo "== done"
