// SPDX-License-Identifier: GPL-2.0
/* On to the bus and off it. Under dev->mutex. */
#include "core.h"

/*
 * EBUSY: it runs with other settings; the same ones are no error, so that whoever comes first starts
 * it.
 */
int canchar_start(struct canchar_dev *dev, const struct canchar_control *control)
{
	int err;

	if (control->version != CANCHAR_VERSION)
		return -EPROTO;
	if (control->reserved || control->flags & ~dev->model->supports || !control->bitrate ||
	    !control->data_bitrate != !(control->flags & CANCHAR_FD))
		return -EINVAL;
	if (READ_ONCE(dev->state) != CANCHAR_STATE_STOPPED)
		return memcmp(&dev->control, control, sizeof(*control)) ? -EBUSY : 0;
	dev->control = *control;
	err = dev->model->ops->start(dev);
	if (err) {
		dev->control.bitrate = 0;
		return err;
	}
	spin_lock_irq(&dev->lock);
	/* An interrupt may have said more already. */
	if (dev->state == CANCHAR_STATE_STOPPED)
		canchar_state(dev, CANCHAR_STATE_ACTIVE, 0, 0);
	canchar_tell(dev);
	spin_unlock_irq(&dev->lock);
	return 0;
}

void canchar_stop(struct canchar_dev *dev)
{
	if (READ_ONCE(dev->state) == CANCHAR_STATE_STOPPED)
		return;
	cancel_delayed_work_sync(&dev->restart);
	dev->model->ops->stop(dev);
	spin_lock_irq(&dev->lock);
	canchar_abort_buffers(dev, CANCHAR_TX_ABORTED);
	canchar_abort_waiting(dev, NULL, CANCHAR_TX_ABORTED);
	canchar_state(dev, CANCHAR_STATE_STOPPED, 0, 0);
	canchar_tell(dev);
	spin_unlock_irq(&dev->lock);
}

/* After bus-off. EINVAL: it is not. */
int canchar_recover(struct canchar_dev *dev)
{
	unsigned long flags;
	int err = -EINVAL;

	spin_lock_irqsave(&dev->lock, flags);
	if (!dev->gone && dev->state == CANCHAR_STATE_BUS_OFF) {
		dev->model->ops->recover(dev);
		err = 0;
	}
	spin_unlock_irqrestore(&dev->lock, flags);
	return err;
}

void canchar_restart(struct work_struct *work)
{
	struct canchar_dev *dev =
		container_of(to_delayed_work(work), struct canchar_dev, restart);

	/* Somebody else was faster: nothing to do. */
	canchar_recover(dev);
}
