// SPDX-License-Identifier: GPL-2.0
/* The SJA1000's registers. All under dev->lock, but for start and stop. */
#include <linux/can/error.h>
#include <linux/delay.h>
#include <linux/interrupt.h>

#include "sja1000.h"
#include "timing.h"

/* Data sheet, table 11: registers in PeliCAN mode. */
enum {
	MOD, CMR, SR, IR, IER,
	BTR0 = 6, BTR1, OCR,
	ALC = 11, ECC,
	RXERR = 14, TXERR,
	BUFFER = 16,		/* frame information, identifier, data; in reset mode the filter */
	CDR = 31,
};

#define MOD_RESET 0x01
#define MOD_LISTEN 0x02
#define MOD_SINGLE_FILTER 0x08
#define MOD_BITS 0x1f

#define CMR_TRANSMIT 0x01
#define CMR_ABORT 0x02		/* with TRANSMIT: sent once only (table 13, note 2) */
#define CMR_RELEASE 0x04
#define CMR_CLEAR_OVERRUN 0x08

#define SR_RECEIVED 0x01
#define SR_BUFFER_FREE 0x04
#define SR_COMPLETE 0x08
#define SR_ERROR 0x40		/* a counter has reached the warning limit */
#define SR_BUS_OFF 0x80

#define I_RECEIVE 0x01
#define I_TRANSMIT 0x02
#define I_WARNING 0x04
#define I_OVERRUN 0x08
#define I_PASSIVE 0x20
#define I_ARBITRATION 0x40
#define I_BUS_ERROR 0x80
#define I_USUAL (I_RECEIVE | I_TRANSMIT | I_WARNING | I_OVERRUN | I_PASSIVE | I_ARBITRATION)

#define OCR_NORMAL 0x02
#define CDR_PELICAN 0x80

#define FI_EFF 0x80
#define FI_RTR 0x40
#define FI_LEN 0x0f

#define PASSIVE 128		/* error counter from which on (ISO 11898-1, fault confinement) */
#define ROUNDS 20		/* of one interrupt; the line is level-triggered and brings the next one */
#define PATIENCE 100		/* tries, 10 us apart: it changes its mode at the end of a frame */

static u8 get(const struct canchar_sja1000 *chip, unsigned int at)
{
	return ioread8(chip->base + at);
}

static void set(const struct canchar_sja1000 *chip, unsigned int at, u8 value)
{
	iowrite8(value, chip->base + at);
}

/* A command needs a clock period before the status is true (6.4.4). */
static void command(const struct canchar_sja1000 *chip, u8 bits)
{
	set(chip, CMR, bits);
	get(chip, SR);
}

static bool turn(const struct canchar_sja1000 *chip, u8 mode)
{
	int i;

	for (i = 0; i < PATIENCE; i++) {
		set(chip, MOD, mode);
		/* The other bits are reserved; with no chip there all are set. */
		if (get(chip, MOD) != 0xff && (get(chip, MOD) & MOD_BITS) == mode)
			return true;
		udelay(10);
	}
	return false;
}

bool canchar_sja1000_silence(struct canchar_sja1000 *chip)
{
	set(chip, IER, 0);
	if (!turn(chip, MOD_RESET))
		return false;
	/* What is set already would keep the line up. */
	get(chip, IR);
	return true;
}

/* Every frame is taken; files have filters of their own. In reset mode. */
static void open_filter(const struct canchar_sja1000 *chip)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		set(chip, BUFFER + i, 0);
		set(chip, BUFFER + 4 + i, 0xff);
	}
}

static u32 state_of(const struct canchar_sja1000 *chip, u8 status, u32 *tec, u32 *rec)
{
	*tec = get(chip, TXERR);
	*rec = get(chip, RXERR);
	if (status & SR_BUS_OFF)
		return CANCHAR_STATE_BUS_OFF;
	if (*tec >= PASSIVE || *rec >= PASSIVE)
		return CANCHAR_STATE_PASSIVE;
	return status & SR_ERROR ? CANCHAR_STATE_WARNING : CANCHAR_STATE_ACTIVE;
}

/* ---- In the interrupt ---- */

static void receive(struct canchar_sja1000 *chip)
{
	struct canfd_frame frame = {};
	u8 i, info = get(chip, BUFFER), data;

	if (info & FI_EFF) {
		frame.can_id = CAN_EFF_FLAG | (u32)get(chip, BUFFER + 1) << 21 |
			       (u32)get(chip, BUFFER + 2) << 13 |
			       (u32)get(chip, BUFFER + 3) << 5 | get(chip, BUFFER + 4) >> 3;
		data = BUFFER + 5;
	} else {
		frame.can_id = (u32)get(chip, BUFFER + 1) << 3 | get(chip, BUFFER + 2) >> 5;
		data = BUFFER + 3;
	}
	frame.len = min_t(u8, info & FI_LEN, CAN_MAX_DLEN);
	if (info & FI_RTR)
		frame.can_id |= CAN_RTR_FLAG;
	else
		for (i = 0; i < frame.len; i++)
			frame.data[i] = get(chip, data + i);
	command(chip, CMR_RELEASE);
	canchar_received(chip->dev, &frame, false);
}

/* The first bits say what kind of error it was, the last ones where (6.4.9). */
static void bus_error(struct canchar_sja1000 *chip)
{
	static const u8 kinds[] = { CAN_ERR_PROT_BIT, CAN_ERR_PROT_FORM, CAN_ERR_PROT_STUFF, 0 };
	u8 code = get(chip, ECC), what[8] = {};

	what[2] = kinds[code >> 6];
	/* Linux numbers the segments as the chip does. */
	what[3] = code & 0x1f;
	if (!(code & 0x20))
		what[2] |= CAN_ERR_PROT_TX;
	canchar_bus_error(chip->dev, what, CAN_ERR_PROT | CAN_ERR_BUSERROR);
}

static void handle(struct canchar_sja1000 *chip, u8 what)
{
	u8 status = get(chip, SR);
	u32 state, tec, rec;

	/* At bus-off the buffer falls free too: what was in it, canchar_state says. */
	if (what & I_TRANSMIT && status & SR_BUFFER_FREE && !(status & SR_BUS_OFF))
		canchar_done(chip->dev, 0,
			     status & SR_COMPLETE ? CANCHAR_TX_SENT : CANCHAR_TX_FAILED);
	/* In reset mode, to which bus-off leads, the filter is where the FIFO was. */
	if (what & I_RECEIVE)
		while ((get(chip, SR) & (SR_RECEIVED | SR_BUS_OFF)) == SR_RECEIVED)
			receive(chip);
	if (what & I_OVERRUN) {
		command(chip, CMR_CLEAR_OVERRUN);
		canchar_overrun(chip->dev);
	}
	if (what & I_ARBITRATION)
		canchar_arbitration_lost(chip->dev, get(chip, ALC) & 0x1f);
	if (what & I_BUS_ERROR)
		bus_error(chip);
	if (what & (I_WARNING | I_PASSIVE | I_BUS_ERROR)) {
		state = state_of(chip, status, &tec, &rec);
		canchar_state(chip->dev, state, tec, rec);
	}
}

static irqreturn_t interrupt(int irq, void *data)
{
	struct canchar_sja1000 *chip = data;
	struct canchar_dev *dev = chip->dev;
	unsigned long flags;
	int n = 0;

	spin_lock_irqsave(&dev->lock, flags);
	while (chip->on && n < ROUNDS) {
		/* All bits: the card has been pulled out. */
		u8 what = get(chip, IR);

		if (!what || what == 0xff)
			break;
		n++;
		handle(chip, what);
	}
	if (n)
		dev->stats.interrupts++;
	canchar_tell(dev);
	spin_unlock_irqrestore(&dev->lock, flags);
	return n ? IRQ_HANDLED : IRQ_NONE;
}

/* ---- What the core asks for ---- */

/* In reset mode: all but the mode. */
static int set_up(const struct canchar_sja1000 *chip, const struct canchar_timing *timing)
{
	int i;

	set(chip, CDR, chip->clock_divider | CDR_PELICAN);
	if (!(get(chip, CDR) & CDR_PELICAN))
		return -EIO;
	open_filter(chip);
	set(chip, BTR0, (timing->prescaler - 1) | (timing->jump - 1) << 6);
	set(chip, BTR1, (timing->before - 1) | (timing->after - 1) << 4);
	set(chip, OCR, chip->output | OCR_NORMAL);
	set(chip, TXERR, 0);
	set(chip, RXERR, 0);
	/* What another driver left. Entering reset mode clears the FIFO, but not on all copies of the chip. */
	get(chip, ECC);
	get(chip, ALC);
	command(chip, CMR_ABORT | CMR_CLEAR_OVERRUN);
	for (i = 0; i < 64 && get(chip, SR) & SR_RECEIVED; i++)
		command(chip, CMR_RELEASE);
	get(chip, IR);
	return 0;
}

static int start(struct canchar_dev *dev)
{
	struct canchar_sja1000 *chip = canchar_data(dev);
	const struct canchar_control *control = &dev->control;
	struct canchar_timing timing;
	int err;

	err = canchar_timing(dev->model->clock, control->bitrate, control->sample_point, &timing);
	if (err)
		return err;
	if (!canchar_sja1000_silence(chip))
		return -EIO;
	err = set_up(chip, &timing);
	if (err)
		return err;
	chip->dev = dev;
	chip->mode = MOD_SINGLE_FILTER;
	if (control->flags & CANCHAR_LISTEN_ONLY)
		chip->mode |= MOD_LISTEN;
	chip->transmit = CMR_TRANSMIT;
	if (control->flags & CANCHAR_ONE_SHOT)
		chip->transmit |= CMR_ABORT;
	err = request_irq(chip->irq, interrupt, IRQF_SHARED, dev_name(&dev->device), chip);
	if (err)
		return err;
	/* Listen-only can be chosen in reset mode only: then both bits are written one after the other. */
	if (!turn(chip, chip->mode | MOD_RESET) || !turn(chip, chip->mode)) {
		canchar_sja1000_silence(chip);
		free_irq(chip->irq, chip);
		return -EIO;
	}
	spin_lock_irq(&dev->lock);
	chip->on = true;
	set(chip, IER, I_USUAL | (control->flags & CANCHAR_BUS_ERRORS ? I_BUS_ERROR : 0));
	spin_unlock_irq(&dev->lock);
	return 0;
}

static void stop(struct canchar_dev *dev)
{
	struct canchar_sja1000 *chip = canchar_data(dev);
	u8 status;

	spin_lock_irq(&dev->lock);
	chip->on = false;
	spin_unlock_irq(&dev->lock);
	if (!canchar_sja1000_silence(chip))
		dev_warn(&dev->device, "the SJA1000 does not answer\n");
	free_irq(chip->irq, chip);
	/* The frame that left last, whose interrupt nobody has seen. Reset mode keeps the two bits. */
	status = get(chip, SR);
	if (status != 0xff && status & SR_BUFFER_FREE && status & SR_COMPLETE) {
		spin_lock_irq(&dev->lock);
		canchar_done(dev, 0, CANCHAR_TX_SENT);
		spin_unlock_irq(&dev->lock);
	}
}

/* It counts the recessive bits itself, and says by an interrupt when it is active again. */
static void recover(struct canchar_dev *dev)
{
	struct canchar_sja1000 *chip = canchar_data(dev);

	if (!chip->on)
		return;
	/* A frame that came too late for the buffer went to the filter. */
	open_filter(chip);
	turn(chip, chip->mode);
}

static void transmit(struct canchar_dev *dev, unsigned int buffer, const struct canfd_frame *frame,
		     bool fd, u64 rank)
{
	struct canchar_sja1000 *chip = canchar_data(dev);
	u32 id = frame->can_id;
	u8 i, data, info = frame->len | (id & CAN_RTR_FLAG ? FI_RTR : 0);

	/* stop() is under way, which tells the file. */
	if (!chip->on)
		return;
	if (id & CAN_EFF_FLAG) {
		set(chip, BUFFER, info | FI_EFF);
		set(chip, BUFFER + 1, id >> 21);
		set(chip, BUFFER + 2, id >> 13);
		set(chip, BUFFER + 3, id >> 5);
		set(chip, BUFFER + 4, id << 3);
		data = BUFFER + 5;
	} else {
		set(chip, BUFFER, info);
		set(chip, BUFFER + 1, id >> 3);
		set(chip, BUFFER + 2, id << 5);
		data = BUFFER + 3;
	}
	if (!(id & CAN_RTR_FLAG))
		for (i = 0; i < frame->len; i++)
			set(chip, data + i, frame->data[i]);
	command(chip, chip->transmit);
}

static void counters(struct canchar_dev *dev, u32 *tec, u32 *rec)
{
	state_of(canchar_data(dev), 0, tec, rec);
}

const struct canchar_ops canchar_sja1000_ops = {
	.start = start,
	.stop = stop,
	.recover = recover,
	.transmit = transmit,
	.counters = counters,
};
