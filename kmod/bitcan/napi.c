// SPDX-License-Identifier: GPL-2.0
/*
 * Busy polling for CAN sockets (SO_BUSY_POLL). A socket of another family learns the NAPI instance of
 * its interface from the frames that it receives. A raw CAN socket never does: af_can hands it frames
 * without telling (no sk_mark_napi_id in net/can). Here a socket is told.
 */
#include <linux/net.h>
#include <linux/uaccess.h>
#include <net/busy_poll.h>
#include <net/sock.h>

#include "kernel.h"

#ifdef CONFIG_NET_RX_BUSY_POLL
static int tell(struct sock *sk, u32 ifindex)
{
	struct bitcan_port *port;
	unsigned int id;

	if (sk->sk_family != PF_CAN)
		return -EPROTOTYPE;
	list_for_each_entry(port, &bitcan_ports, list) {
		if (port->dev->ifindex != ifindex || !net_eq(dev_net(port->dev), sock_net(sk)))
			continue;
		/* Only mscan reads frames in NAPI. */
		id = port->napi.dev ? port->napi.napi_id : 0;
		if (!id)
			return -EOPNOTSUPP;
		WRITE_ONCE(sk->sk_napi_id, id);
		return 0;
	}
	return -ENODEV;
}

/* BITCAN_NAPI. */
int bitcan_napi_tell(const void __user *arg)
{
	struct bitcan_napi napi;
	struct socket *sock;
	int err;

	if (copy_from_user(&napi, arg, sizeof(napi)))
		return -EFAULT;
	sock = sockfd_lookup(napi.socket, &err);
	if (!sock)
		return err;
	mutex_lock(&bitcan_mutex);
	err = tell(sock->sk, napi.ifindex);
	mutex_unlock(&bitcan_mutex);
	sockfd_put(sock);
	return err;
}
#else
/* Not with PREEMPT_RT. */
int bitcan_napi_tell(const void __user *arg)
{
	return -EOPNOTSUPP;
}
#endif
