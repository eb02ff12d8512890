package config

import (
	"errors"
	"fmt"
	"os"
	"time"

	"sallyport/mgmt/internal/peer"
)

// Peer is the other box of a pair; without a side there is none.
type Peer struct {
	Side     Side   `toml:"side"`
	Listen   Listen `toml:"listen"`  // where the other box asks
	Connect  Listen `toml:"connect"` // where it is asked
	Secret   Secret `toml:"secret"`  // the file of what both know
	Interval Period `toml:"interval"`
	Dead     Period `toml:"dead_after"`
	// Rate is the most packets/s that an SA carries, each way.
	Rate uint64 `toml:"packets_per_second"`
}

// chipRate is what a crypto chip can number: a packet every 2 cycles of 300 MHz.
const chipRate = 150_000_000

var defaultPeer = Peer{Interval: Period{500 * time.Millisecond}, Dead: Period{2 * time.Second}, Rate: chipRate}

// Wanted says whether the box is one of a pair.
func (p *Peer) Wanted() bool { return p.Side.Side != "" }

// check finds what does not go together.
func (p *Peer) check() error {
	switch {
	case !p.Wanted() && (p.Listen.IsValid() || p.Connect.IsValid() || p.Secret.Value != ""):
		return errors.New(`peer needs its side, "a" here and "b" on the other box`)
	case !p.Wanted():
		return nil
	case !p.Listen.IsValid() || !p.Connect.IsValid():
		return errors.New("peer needs both listen and connect: each box asks the other")
	case p.Secret.Value == "":
		return errors.New("peer needs the secret that the boxes know each other by: a file of random bytes, the same on both")
	case p.Dead.Duration < 2*p.Interval.Duration:
		return fmt.Errorf("dead_after must be at least twice the interval of %v, lest one lost answer move the tunnel", p.Interval.Duration)
	case p.Rate == 0 || p.Rate > chipRate:
		return fmt.Errorf("packets_per_second must be 1 to %d, which is what the chip can number", chipRate)
	}
	return nil
}

// Side is a or b.
type Side struct{ peer.Side }

// UnmarshalText checks it.
func (s *Side) UnmarshalText(text []byte) error {
	s.Side = peer.Side(text)
	if s.Side != peer.SideA && s.Side != peer.SideB {
		return fmt.Errorf(`%q must be "a" or "b": one box of a pair is the one, the other the other`, text)
	}
	return nil
}

// Secret is what a file holds that others may not read.
type Secret struct{ Value string }

// UnmarshalText reads the file.
func (s *Secret) UnmarshalText(text []byte) error {
	var path Path
	if err := path.UnmarshalText(text); err != nil {
		return err
	}
	info, err := os.Stat(path.Name)
	if err != nil {
		return fmt.Errorf("cannot read the secret %s: %w", path.Name, reason(err))
	}
	if info.Mode().Perm()&0o007 != 0 {
		return fmt.Errorf("everybody may reach the secret %s: chmod o= %s", path.Name, path.Name)
	}
	value, err := os.ReadFile(path.Name)
	if err != nil {
		return fmt.Errorf("cannot read the secret %s: %w", path.Name, reason(err))
	}
	if len(value) < peer.LeastSecret {
		return fmt.Errorf("the secret %s has %d bytes, and needs %d: head -c %d /dev/urandom > %s", path.Name, len(value), peer.LeastSecret, peer.LeastSecret, path.Name)
	}
	s.Value = string(value)
	return nil
}

// String keeps it out of logs.
func (s Secret) String() string { return "secret" }
