#!/bin/sh
# engine to body
cangw -A -s can0 -d can1 -f 123:C00007FF -m SET:I:321.0.0000000000000000
cangw -A -s can0 -d can1 -e -t -f 200~700 -m AND:D:000.0.FF00FF00FF00FF00 -x 0:6:7:A5
cangw -A -s "can1" -d 'can0' -l 2 -i # way back
