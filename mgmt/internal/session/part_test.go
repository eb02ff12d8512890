// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// changer makes random changes of tunnels between two of a few boxes.
type changer struct {
	*rand.Rand
	keys int
	spi  int
}

// tunnels is of how many tunnels there may be SAs and policies.
const tunnels = 6

func (c *changer) state(verb string, i int, way string) string {
	c.keys++
	c.spi++
	src, dst := "192.0.2.1", fmt.Sprintf("198.51.100.%d", 1+i/2)
	if way == "in" {
		src, dst = dst, src
	}
	more := []string{"", "", "", "", "replay-seq 7", "limit packet-soft 5", "sel src 10.0.0.0/8 dst 10.0.0.0/8"}[c.IntN(7)]
	if way == "out" {
		more = []string{"", "", "", "", "", "", "dscp map 0:1", "for-dscp 46", "dummy 100 every 1ms", "df set"}[c.IntN(10)]
	}
	return fmt.Sprintf("xfrm state %s src %s dst %s proto esp spi %d reqid %d mode tunnel dir %s replay-window %d %s aead 'rfc4106(gcm(aes))' 0x%032x%08x 128\n",
		verb, src, dst, 0x1000+c.spi%40, i+1, way, 64<<c.IntN(7), more, c.keys, c.keys)
}

// policy is a flow, a rule, or what inbound SAs carry; some are twins for in and fwd, and
// some overlap.
func (c *changer) policy(verb string) string {
	i := c.IntN(tunnels)
	tmpl := fmt.Sprintf(" tmpl src 192.0.2.1 dst 198.51.100.%d proto esp reqid %d mode tunnel", 1+i/2, i+1)
	back := fmt.Sprintf(" tmpl src 198.51.100.%d dst 192.0.2.1 proto esp reqid %d mode tunnel", 1+i/2, i+1)
	dir := []string{"in", "fwd"}[c.IntN(2)]
	sel, rest := "", ""
	switch c.IntN(12) {
	case 0, 1, 2:
		sel, rest = fmt.Sprintf("src 10.1.0.%d dst 10.2.0.%d proto udp sport 7 dport %d dir out", i, i, 1+c.IntN(3)), tmpl
	case 3, 4:
		bits := []int{16, 24, 24, 25}[c.IntN(4)]
		sel, rest = fmt.Sprintf("src 10.1.%d.0/24 dst %s dir out", i, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 2, byte(i)}), bits).Masked()), tmpl
	case 5, 6, 7, 8:
		sel, rest = fmt.Sprintf("src 10.2.%d.0/24 dst 10.%d.%d.0/24 dir %s", i, []int{1, 1, 3}[c.IntN(3)], i, dir), back
	case 9:
		sel, rest = fmt.Sprintf("src 10.2.%d.%d/32 dst 10.1.%d.0/24 dir %s", i, c.IntN(2), i, dir), back
	case 10:
		sel, rest = fmt.Sprintf("src 10.2.0.0/16 dst 10.1.0.0/16 proto tcp dport %d dir %s", 1+c.IntN(2), []string{"in", "fwd", "out"}[c.IntN(3)]), " action "+[]string{"allow", "block"}[c.IntN(2)]
	case 11:
		sel, rest = fmt.Sprintf("src 10.9.0.1 dst 10.8.0.%d proto udp sport 1 dport 2 dir out", i), " action block"
	}
	if verb == "delete" {
		return "xfrm policy delete " + sel + "\n"
	}
	if c.IntN(3) == 0 {
		rest = strings.Replace(rest, " tmpl", " flag mss tmpl", 1)
	}
	return fmt.Sprintf("xfrm policy %s %s priority %d%s\n", verb, sel, 10*(1+c.IntN(3)), rest)
}

func (c *changer) line() string {
	i := c.IntN(tunnels)
	switch c.IntN(20) {
	case 0, 1, 2, 3, 4:
		return c.state("add", i, "out")
	case 5, 6, 7, 8:
		return c.state("add", i, "in")
	case 9, 10:
		return fmt.Sprintf("xfrm state deleteall reqid %d\n", i+1)
	case 11, 12, 13:
		return c.policy("delete")
	case 14:
		return c.policy("update")
	case 15:
		if c.IntN(6) == 0 {
			return []string{"xfrm state flush\n", "xfrm policy flush\n", "link set red up\n", "neigh replace 198.51.100.1 lladdr 02:00:00:00:00:01 dev black\n"}[c.IntN(4)]
		}
	}
	return c.policy("add")
}

// path has an SA learn a path MTU, or lets time pass, so that some are forgotten.
func (c *changer) path(s *session.Session, now *int64) error {
	told := map[uint64]uint32{}
	v, err := s.Look()
	if err != nil {
		return err
	}
	for sa := range v.Model().SAs.All() {
		if c.IntN(8) == 0 && sa.Way == xfrm.DirOut {
			told[sa.Age] = 1280 + c.Uint32N(200)
		}
	}
	*now += c.Int64N(int64(model.PathAge/time.Second) / 2)
	_, _, err = s.LearnPaths(told, model.PathAge)
	return err
}

// hosts learns, changes or forgets addresses of hosts on red, of gateways there, and of some at
// black.
func (c *changer) hosts(s *session.Session) error {
	v, err := s.Look()
	if err != nil || c.IntN(2) == 0 {
		return err
	}
	_, before := v.NextHops()
	learned := map[model.NextHop]xfrm.MAC{}
	maps.Copy(learned, before)
	for range 1 + c.IntN(3) {
		hop := model.NextHop{Dev: xfrm.Red, IP: netip.AddrFrom4([4]byte{10, 1, byte(c.IntN(5) / 3), byte(2 + c.IntN(3))})}
		if c.IntN(4) == 0 {
			hop = model.NextHop{Dev: xfrm.Black, IP: netip.AddrFrom4([4]byte{192, 0, 2, byte(2 + c.IntN(2))})}
		}
		if learned[hop] = (xfrm.MAC{2, 0, 0, 0, 0, byte(c.IntN(3))}); c.IntN(3) == 0 {
			delete(learned, hop)
		}
	}
	return s.Learn(learned)
}

// TestParts: a change that computes a part gives the tables that computing everything anew gives.
// Not a row differs, on the chips too, and no count of Standing. Most changes are of a part.
func TestParts(t *testing.T) {
	seed := rand.Uint64()
	parts, changes := 0, 0
	for run := range uint64(6) {
		sizes := fakebox.Small
		if run%2 == 1 {
			sizes.PrefixBits, sizes.PolicyBits = 8, 5
		}
		r := newRig(t, sizes)
		c := &changer{rand.New(rand.NewPCG(seed, run)), 0, 0}
		what := ""
		fail := func(format string, args ...any) {
			t.Helper()
			t.Fatalf("seed %d, run %d, after\n%s%s", seed, run, what, fmt.Sprintf(format, args...))
		}
		err := r.Session(func(s *session.Session) error {
			run := func(text string) error {
				commands, err := xfrm.ParseBatch("f", []byte(text))
				if err != nil {
					return err
				}
				return s.Run(commands)
			}
			now := int64(1_700_000_000)
			s.Now = func() time.Time { return time.Unix(now, 0) }
			if err := s.Hold(t.Context()); err != nil {
				return err
			}
			if err := run("addr add 192.0.2.1/24 dev black\naddr add 10.1.0.1/16 dev red\nroute add default via 192.0.2.2 dev black\nroute add 198.51.100.2/32 via 192.0.2.3 dev black\nroute add 10.1.2.0/23 via 10.1.0.3 dev red\nroute add 10.3.0.0/16 via 10.1.0.4 dev red\n"); err != nil {
				return err
			}
			for range 150 {
				text := ""
				for range 1 + c.IntN(3) {
					text += c.line()
				}
				standing := s.Standing()
				if err := run(text); err != nil {
					if !session.IsInput(err) {
						fail("%s: %v", text, err)
					}
					continue
				}
				what += text
				if changes++; s.Standing() == standing {
					parts++
				}
				if err := c.path(s, &now); err != nil {
					fail("%sa path MTU: %v", text, err)
				}
				if err := c.hosts(s); err != nil {
					fail("%slearned hosts: %v", text, err)
				}
				p, err := s.PlanOfAll()
				if err != nil {
					fail("everything: %v", err)
				}
				for _, w := range p.Writes {
					fail("part %t, of everything %s %s row %d is %x", s.Standing() == standing, w.Chip, w.Table.Name, w.Index, w.Row)
				}
				if want := slices.SortedFunc(maps.Keys(p.Target.Wanted), model.NextHop.Compare); !slices.Equal(want, s.Hops()) {
					fail("learned are %v, of everything %v", s.Hops(), want)
				}
				ways := s.Standing().TakeWays()
				if counted, err := s.Recount(); err != nil || !reflect.DeepEqual(counted, s.Standing()) {
					fail("counted were\n%+v, of everything\n%+v (%v)", s.Standing(), counted, err)
				}
				s.Standing().KeepWays(ways)
				if differs := differing(r, s.Image()); differs != "" {
					fail("%s", differs)
				}
			}
			return s.Release()
		})
		if err != nil {
			t.Fatal(err)
		}
		// The file has the same: another session has nothing to write.
		r.Must("link set red up\n")
		if len(r.Fake.Log) != 0 {
			fail("the next session writes %v", r.Fake.Log)
		}
	}
	if parts < changes/4 {
		t.Errorf("seed %d: %d of %d changes were of a part", seed, parts, changes)
	}
}

// differing compares tables on the chips with an image.
func differing(r *rig, image *compile.Image) string {
	var out strings.Builder
	for _, table := range []struct {
		c transport.Chip
		t regs.Table
	}{{transport.Inner, regs.InnerTableFlow}, {transport.Outer, regs.OuterTableSad}, {transport.Inner, regs.InnerTableSelector}, {transport.Outer, regs.OuterTableTunnel}, {transport.Outer, regs.OuterTablePeer}, {transport.Inner, regs.InnerTablePrefixPolicy}, {transport.Inner, regs.InnerTablePrefixChild}} {
		chip, known := r.Fake.Table(table.c, table.t), *image.Rows()[table.t.Name]
		if len(chip) != len(known) {
			fmt.Fprintf(&out, "%s has %d rows, known are %d\n", table.t.Name, len(chip), len(known))
		}
		for index, row := range known {
			on := slices.Clone(chip[index])
			if table.t == regs.InnerTableSelector && on != nil {
				regs.SelectorRow.WindowKeep.Put(on, 0)
			}
			if !slices.Equal(on, row) {
				fmt.Fprintf(&out, "%s row %d is %x, known %x\n", table.t.Name, index, on, row)
			}
		}
	}
	return out.String()
}
