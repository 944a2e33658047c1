# A gateway in a network namespace, as docs/containers.md says, by the program of the package alone. What each step
# prints follows its line `== name`.
# What a host loads by itself.
modprobe -a can can-raw vxcan || exit 99
mkdir -p /box/usr/bin /box/tmp /tmp/bin
cp /lab/static /box/usr/bin/cangate
# As a container without anything else has it.
cat >/tmp/bin/cangate <<'END'
#!/bin/sh
exec chroot /box /usr/bin/cangate "$@"
END
chmod 755 /tmp/bin/cangate
export PATH=/tmp/bin:$PATH
cd /box
echo "== alone"
uname -r
cangate --version
find /box -type f
echo "== page"
bash -e /lab/page.sh 2>&1 || echo "status $?"
# The gateway's last words belong to the page.
for process in /proc/[0-9]*; do
    tr '\0' ' ' <$process/cmdline | grep -q '^/usr/bin/cangate run ' && kill ${process#/proc/}
done
sleep 1
echo "== done"
