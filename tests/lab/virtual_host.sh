# What a virtual host does: it becomes an RDMA host as /desk/settings says, and runs the scripts
# that are put on the desk, each in its own process: N.sh to N.out, N.err and, when it has ended,
# N.status.
. /desk/settings
export PATH=$path HOME=/tmp
exec </dev/null

mount -t tmpfs tmpfs /run
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
rm -rf "/lib/modules/$kernel"
mkdir -p /lib/modules
ln -s "$guest/root/lib/modules/$kernel" "/lib/modules/$kernel"
modprobe -a rdma_rxe rdma_ucm ib_umad

ip link set lo up
ip link set eth0 mtu "$mtu" up
ip addr add "$address/24" dev eth0
ip addr add "$address_v6/64" dev eth0 nodad
ip route add default via "$gateway"
ip route add default via "$gateway_v6"
ulimit -l unlimited
rdma link add rx0 type rxe netdev eth0
echo up >/desk/ready

number=0
while sleep 0.05; do
  [[ -e /desk/$number.sh ]] || continue
  (
    bash "/desk/$number.sh" >"/desk/$number.out" 2>"/desk/$number.err"
    echo $? >"/desk/$number.part"
    mv "/desk/$number.part" "/desk/$number.status"
  ) &
  number=$((number + 1))
done
