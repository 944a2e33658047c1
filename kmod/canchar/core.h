/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices for CAN controllers: what a controller's driver sees of them. */
#ifndef CANCHAR_CORE_H
#define CANCHAR_CORE_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/version.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "canchar.h"

#define CANCHAR_BUFFERS 8	/* transmit buffers of a controller, at most */

struct canchar_dev;

/* A controller. */
struct canchar_ops {
	/*
	 * On to the bus as dev->control says, and off it; may sleep, under dev->mutex. After stop no
	 * interrupt of the controller's runs any more.
	 */
	int (*start)(struct canchar_dev *dev);
	void (*stop)(struct canchar_dev *dev);
	/* After bus-off; does nothing after stop, with which the restart's timer may race. Under dev->lock. */
	void (*recover)(struct canchar_dev *dev);
	/*
	 * Fills a transmit buffer that is free, and requests its transmission. Of two buffers that with the
	 * lower rank is to leave first. Under dev->lock; may come when stop is under way: the frame is
	 * aborted then.
	 */
	void (*transmit)(struct canchar_dev *dev, unsigned int buffer,
			 const struct canfd_frame *frame, bool fd, u64 rank);
	void (*counters)(struct canchar_dev *dev, u32 *tec, u32 *rec);
};

/* What a driver says of its controller. */
struct canchar_model {
	const struct canchar_ops *ops;
	const char *controller;
	u32 supports;		/* CANCHAR_LISTEN_ONLY | … */
	u32 clock;		/* Hz */
	u32 buffers, fifo;
};

/* A frame in the controller's transmit buffer. */
struct canchar_buffer {
	struct canchar_file *file;	/* NULL: closed meanwhile */
	u32 slot;			/* of the file's */
	bool fd;
	struct canfd_frame frame;
	u64 mark;
};

struct canchar_dev {
	struct device device;
	struct cdev cdev;
	const struct canchar_model *model;
	char bus[32];

	struct mutex mutex;	/* start, stop, and the end */
	struct canchar_control control;
	bool gone;		/* also under lock */

	spinlock_t lock;	/* all that follows */
	u32 state;		/* CANCHAR_STATE_* */
	struct list_head files;
	struct list_head waiting;	/* struct canchar_pending, the next one first */
	u64 sequence;		/* of frames taken from files */
	u32 full;		/* transmit buffers that hold a frame, a bit each */
	struct canchar_buffer buffer[CANCHAR_BUFFERS];
	struct canchar_stats stats;	/* without a file's */
	struct delayed_work restart;
};

/* A frame that a file has handed over, and that is not final yet. */
struct canchar_pending {
	struct list_head list;	/* in dev->waiting; empty: in a buffer of the controller's */
	struct canchar_file *file;
	bool busy;
	bool fd;
	u32 key;		/* CAN priority, or 0 */
	u64 rank;
	struct canfd_frame frame;
	u64 mark;
};

/* An open file. */
struct canchar_file {
	struct canchar_dev *dev;
	struct list_head list;
	struct canchar_area *area;	/* what the process maps; nothing in it is believed */
	wait_queue_head_t readable, writable;
	struct mutex reading;

	/* Under dev->lock. */
	u32 rx_head, tx_taken;
	u32 lost;		/* since the last frame that found room */
	bool all;		/* the one filter takes every frame */
	bool woken;		/* readers are to be told */
	struct canchar_filters filters;
	u64 received, lost_ever, filtered, taken, sent, failed;
	struct canchar_pending pending[CANCHAR_SLOTS];
};

/* core.c: for drivers. Name: of the device below /dev. */
int canchar_init(void);
void canchar_exit(void);
struct canchar_dev *canchar_register(const struct canchar_model *model, const char *name,
				     const char *bus, struct device *parent, void *data);
void canchar_unregister(struct canchar_dev *dev);

static inline void *canchar_data(struct canchar_dev *dev)
{
	return dev_get_drvdata(&dev->device);
}

/* What an interrupt handler says, all under dev->lock; canchar_tell at its end. */
void canchar_received(struct canchar_dev *dev, const struct canfd_frame *frame, bool fd);
void canchar_done(struct canchar_dev *dev, unsigned int buffer, u32 state);
void canchar_state(struct canchar_dev *dev, u32 state, u32 tec, u32 rec);
void canchar_overrun(struct canchar_dev *dev);
void canchar_bus_error(struct canchar_dev *dev, const u8 what[8], u32 class);
void canchar_arbitration_lost(struct canchar_dev *dev, u8 bit);
void canchar_tell(struct canchar_dev *dev);

/* state.c, under dev->mutex */
int canchar_start(struct canchar_dev *dev, const struct canchar_control *control);
void canchar_stop(struct canchar_dev *dev);
void canchar_restart(struct work_struct *work);
int canchar_recover(struct canchar_dev *dev);

/* queue.c, under dev->lock */
void canchar_deliver(struct canchar_file *file, const struct canfd_frame *frame, u32 flags,
		     u64 mark);
bool canchar_valid(const struct canchar_dev *dev, const struct canchar_frame *frame);
bool canchar_has_room(const struct canchar_file *file);
void canchar_take(struct canchar_file *file, const struct canchar_frame *frame);
int canchar_take_mapped(struct canchar_file *file);
void canchar_feed(struct canchar_dev *dev);
void canchar_abort_waiting(struct canchar_dev *dev, struct canchar_file *file, u32 state);
void canchar_abort_buffers(struct canchar_dev *dev, u32 state);

/* file.c */
extern const struct file_operations canchar_fops;

#endif
