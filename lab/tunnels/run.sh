#!/bin/sh
# Measures a tunnel of CAN over a network between two machines: lab/tunnels/run.sh CANGATE TUNNEL NETWORK [PROGRAM]
#
#   CANGATE  the program cangate, with cangate-lab beside it
#   TUNNEL   ieee1722, ieee1722-delay, ieee1722-ethernet, cannelloni-udp, cannelloni-tcp, socketcand, slcan, multicast:
#            all that have files TUNNEL-a.toml and TUNNEL-b.toml here; or peer-udp, peer-tcp: PROGRAM is cannelloni itself;
#            or floor.c, the smallest tunnel (needs gcc): floor-wait, floor-poll (UDP), floor-ethernet (waits), floor-ring
#            (Ethernet)
#   NETWORK  quiet, jitter (4 ± 3 ms), loss (5 %), burst (300 frames without a gap), rate:R (4000 short
#            frames, after each 1/R s; gateways with a slow processor)
#
# It prints what became of the frames, and leaves the logs in the folder LOGS, if that is set.
set -eu
cangate=$1 tunnel=$2 network=$3 program=${4:-}
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
plan=$folder/plan.toml

options() {
	sed "/^kind = \"ethernet\"/a $1" "$plan" >"$plan.new" && mv "$plan.new" "$plan"
}
commands() {
	awk -v new="$1" '/^sleep 1.5$/ { print; print new; skip = 1 } /^sleep 3$/ { skip = 0 } !skip' "$plan" \
		>"$plan.new" && mv "$plan.new" "$plan"
}

# Both gateways have all files, so that all runs share the saved guest of the gateways.
files=
for file in "$here"/*-[ab].toml; do
	files="$files\"${file##*/}\" = \"$file\", "
done
[ -z "$program" ] || files="$files\"cannelloni\" = \"$(realpath "$program")\", "
case $tunnel in
floor-*)
	gcc -O2 -static -Wall -Wextra -Werror -o "$folder/floor" "$here/floor.c"
	files="$files\"floor\" = \"$folder/floor\", "
	;;
esac
sed "s|ieee1722-\([ab]\).toml; wait|$tunnel-\1.toml; wait|; s|^files = .*|files = { ${files%, } }|" \
	"$here/plan.toml" >"$plan"
case $network in
quiet) ;;
jitter) options 'latency = "1ms"\njitter = "6ms"' ;;
loss) options 'loss = 0.05' ;;
burst) commands 'cangen left -g 0 -I 100 -L 8 -D i -n 300' ;;
rate:*)
	# Frames of 2 bytes at 1 Mbit/s, by gateways with a slow processor (8 ns an instruction).
	gap=$(awk -v rate="${network#rate:}" 'BEGIN { print 1000 / rate }')
	commands "cangen left -g $gap -I 100 -L 2 -D i -n 4000"
	sed -i -e 's/^bitrate = .*/bitrate = "1M"\nqueue = 4000/' -e '/^\[machines\.[ab]\]/a cpu = "board:3"' "$plan"
	;;
*) echo "unknown network: $network" >&2 && exit 2 ;;
esac
case $tunnel in
peer-udp) a="cannelloni -I left -R 198.18.1.3 -t 1" b="cannelloni -I right -R 198.18.1.2 -t 1" ;;
peer-tcp) a="cannelloni -I left -C c -R 198.18.1.3" b="cannelloni -I right -C s -R 198.18.1.2" ;;
floor-wait | floor-poll)
	a="floor ${tunnel#floor-} can:left udp:198.18.1.3" b="floor ${tunnel#floor-} udp:198.18.1.2 can:right"
	;;
floor-ethernet) a="floor wait can:left eth:lan" b="floor wait eth:lan can:right" ;;
floor-ring) a="floor ring can:left eth:lan" b="floor ring eth:lan can:right" ;;
esac
case $tunnel in
peer-* | floor-*)
	awk -v a="$a" -v b="$b" '
		/^\[machines\.a\]/ { tunnel = a } /^\[machines\.b\]/ { tunnel = b }
		/^command = .*cangate run/ { print "command = \"timeout -s INT 6 sh -c \u0027" tunnel "\u0027; true\""; next }
		{ print }' "$plan" >"$plan.new" && mv "$plan.new" "$plan"
	;;
esac
"$cangate" lab machines "$plan" --match left:right ${LOGS:+--log "$LOGS"}
