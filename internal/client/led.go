package client

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gofleet/gofleet/internal/epoch"
	"github.com/gofleet/gofleet/internal/wire"
)

// Ask implements [backend.Trainer]. Server 0 leads the epochs; like Gather it settles first, and returns with the
// servers' weights.
func (c *Client) Ask(ctx context.Context, at epoch.At) (*epoch.Told, error) {
	if err := c.settle(ctx); err != nil {
		return nil, err
	}
	if again := c.gathers.asked.Swap(at.N+1) == at.N+1; !again && at.Did != epoch.Choose { // all park as often
		if err := c.EndEpoch(ctx); err != nil {
			return nil, err
		}
	}
	defer c.link.waits.watch(0, time.Now()).stop()
	told, loads, err := c.led(ctx, at)
	if err != nil {
		return nil, err
	}
	if told.Do == "" {
		return told, nil
	}
	c.gathers.place.Store(told.Place)
	c.rates.leads.Store(told.Lead == c.Worker && told.Do != epoch.Over)
	if err := c.renew(ctx, loads); err != nil {
		return nil, err
	}
	return told, c.sessions.Refresh(ctx)
}

// led sends a message in as many pieces as frames need, and reads the answer so.
func (c *Client) led(ctx context.Context, at epoch.At) (*epoch.Told, wire.Loads, error) {
	said, err := json.Marshal(at)
	if err != nil {
		return nil, wire.Loads{}, err
	}
	most, after, text := max(c.gathers.most/2, 1<<10), 0, []byte(nil)
	for {
		ask := wire.Ask{N: at.N, From: len(text), Most: most}
		if len(text) == 0 {
			upTo := min(len(said), after+most)
			ask.Text, ask.After, ask.More = said[after:upTo], after, upTo < len(said)
		}
		var led wire.Led
		if err := c.link.control(ctx, 0, wire.OpEpoch, ask, &led); err != nil {
			return nil, led.Loads, err
		}
		switch {
		case led.Lacks: // another process answers
			after, text = 0, nil
		case ask.More:
			after += len(ask.Text)
		default:
			if text = append(text, led.Text...); led.More {
				continue
			}
			told := new(epoch.Told)
			if err := json.Unmarshal(text, told); err != nil {
				return nil, led.Loads, fmt.Errorf("what server 0 says of the job's epochs: %w", err)
			}
			return told, led.Loads, nil
		}
	}
}
