// SPDX-License-Identifier: Apache-2.0

package vrf_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// place is a customer's VLAN, VRF and XFRM interface, with a route over that.
const place = `link add link red name red.ID type vlan id ID
link add NAME type vrf table ID
link set red.ID master NAME
addr add 10.1.0.1/16 dev red.ID
link add ipsecREQ type xfrm dev black if_id REQ
link set ipsecREQ master NAME
route add 10.2.0.0/16 dev ipsecREQ
`

// installed is what IKE installs for a customer: it knows the if_id alone.
func installed(ifID int) string {
	more := fmt.Sprintf(" if_id %d", ifID)
	return testbox.Sa6("192.0.2.1", "192.0.2.2", 0x1000+ifID, ifID, "dir out"+more) + testbox.Sa6("192.0.2.2", "192.0.2.1", 0x2000+ifID, ifID, "dir in"+more) + policies(ifID)
}

func policies(ifID int) string {
	return strings.ReplaceAll(`xfrm policy update src 10.1.0.0/16 dst 10.2.0.0/16 dir out if_id REQ priority 5 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid REQ mode tunnel
xfrm policy update src 10.2.0.0/16 dst 10.1.0.0/16 dir in if_id REQ priority 5 tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid REQ mode tunnel
`, "REQ", fmt.Sprint(ifID))
}

// customerOf is the place of a customer.
func customerOf(name string, id, ifID int) string {
	return strings.NewReplacer("NAME", name, "ID", fmt.Sprint(id), "REQ", fmt.Sprint(ifID)).Replace(place)
}

func steering() fakebox.Sizes {
	sizes := trees()
	sizes.PolicyBits = 5
	return sizes
}

// goes is the SPI by which a packet of a VLAN leaves, or "none".
func goes(r *testbox.Rig, m *model.Model, vlan int, dst string) string {
	r.T.Helper()
	row, err := r.Decide(r.RulesNow(), testbox.Packet{Src: netip.MustParseAddr("10.1.0.9"), Dst: netip.MustParseAddr(dst), Proto: 17, SPort: 1, DPort: 2, VLAN: vlan})
	if err != nil {
		r.T.Fatal(err)
	}
	if row == nil || regs.FlowRow.Action.Get(row) != regs.ActionProtect {
		return "none"
	}
	return fmt.Sprintf("%x", m.SAs.At(xfrm.DirOut, int(regs.FlowRow.Sa.Get(row))).SPI)
}

// held is a box that is held, with two customers of one address range.
func held(t *testing.T) *testbox.Held {
	t.Helper()
	h := testbox.Hold(t, steering())
	h.Must(black + customerOf("blue", 10, 7) + customerOf("green", 20, 8))
	return h
}

func modelOf(h *testbox.Held) *model.Model {
	h.T.Helper()
	v, err := h.Daemon.Look()
	if err != nil {
		h.T.Fatal(err)
	}
	return v.Model()
}

// wantBoth fails unless each customer's packets go by its own SAs, both ways.
func wantBoth(h *testbox.Held, when string) {
	h.T.Helper()
	m := modelOf(h)
	for vlan, want := range map[int]string{10: "1007", 20: "1008", 0: "none", 30: "none"} {
		h.Want(fmt.Sprintf("%s: VLAN %d", when, vlan), goes(h.Rig, m, vlan, "10.2.0.9"), want)
		h.Want(fmt.Sprintf("%s: VLAN %d without a route", when, vlan), goes(h.Rig, m, vlan, "10.9.0.9"), "none")
	}
	for spi, vrf := range map[uint32]string{0x2007: "blue", 0x2008: "green"} {
		sa := m.SAs.Find(xfrm.ID{Dst: netip.MustParseAddr("192.0.2.1"), Proto: "esp", SPI: spi})
		row := h.Fake.Table(transport.Inner, regs.InnerTableSelector)[sa.Row]
		if got := int(regs.SelectorRow.Network.Get(row)); got != m.NetworkOf(vrf) {
			h.T.Errorf("%s: SA %x comes out in network %d, not in that of %s", when, spi, got, vrf)
		}
	}
}

// TestInterfacesOfVRFs: policies with an if_id are those of the VRF of its interface. Equal
// selectors of two VRFs lead to two tunnels, and come out of them in two networks, for the next
// daemon too. A command with the if_id alone finds and deletes the policy.
func TestInterfacesOfVRFs(t *testing.T) {
	h := held(t)
	h.Must(installed(7))
	h.Must(installed(8))
	wantBoth(h, "at first")
	h.Restart()
	wantBoth(h, "behind a restart")
	if h.Must("link set red up\n"); len(h.Fake.Log) > 0 {
		t.Errorf("everything anew writes %v", h.Fake.Log)
	}
	h.Must(strings.ReplaceAll(policies(7), "priority 5", "priority 4"))
	wantBoth(h, "behind an update")
	m := modelOf(h)
	if got := m.Policies.Len(); got != 4 {
		t.Errorf("%d policies", got)
	}
	for p := range m.Policies.All() {
		if want := map[uint32]string{7: "blue", 8: "green"}[p.IfID]; p.VRF != want {
			t.Errorf("the policy of if_id %d is in the VRF %q", p.IfID, p.VRF)
		}
	}
	v, err := h.Daemon.Look()
	if err != nil {
		t.Fatal(err)
	}
	for _, dev := range []string{"", "dev blue "} {
		commands, err := xfrm.ParseBatch("f", []byte("xfrm policy get src 10.1.0.0/16 dst 10.2.0.0/16 "+dev+"dir out if_id 7\n"))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := v.Read(commands, session.Lists{}); err != nil || !strings.Contains(text, "dev blue ") || !strings.Contains(text, "if_id 0x7") {
			t.Errorf("get says %s, %v", text, err)
		}
		if _, err := v.Policy(commands[0].(xfrm.PolicySelect).Filter); err != nil {
			t.Errorf("query: %v", err)
		}
	}
	for vrf, want := range map[string]uint32{"blue": 7, "green": 8} {
		packet := xfrm.Selector{VRF: vrf, Src: netip.MustParsePrefix("10.1.0.9/32"), Dst: netip.MustParsePrefix("10.2.0.9/32"), Proto: 17, SPort: xfrm.One(1), DPort: xfrm.One(2)}
		if asked, event := v.Acquire(packet); asked != session.AskedSA || event.ReqID != want {
			t.Errorf("a packet of %s asks for %v: %+v", vrf, asked, event)
		}
	}
	h.Must("xfrm policy delete src 10.1.0.0/16 dst 10.2.0.0/16 dir out if_id 7\nxfrm policy delete src 10.2.0.0/16 dst 10.1.0.0/16 dev blue dir in if_id 7\n")
	m = modelOf(h)
	h.Want("without blue's", goes(h.Rig, m, 10, "10.2.0.9")+" "+goes(h.Rig, m, 20, "10.2.0.9"), "none 1008")
	h.Must("xfrm policy flush\nxfrm state flush\nlink set ipsec7 nomaster\nlink set ipsec8 nomaster\nroute del 10.2.0.0/16 dev ipsec7\nroute del 10.2.0.0/16 dev ipsec8\nlink del ipsec7\nlink del ipsec8\n")
	for _, table := range []regs.Table{regs.InnerTablePrefixPolicy, regs.InnerTablePrefixRoot} {
		if rows := h.Fake.Table(transport.Inner, table); len(rows) > 0 {
			t.Errorf("%s has %v still", table.Name, rows)
		}
	}
}

// TestNoInterface: what an SA decrypts whose if_id has no interface is of no network, and dropped,
// as in Linux. An interface that comes gives it one, and takes it along.
func TestNoInterface(t *testing.T) {
	h := testbox.Hold(t, steering())
	h.Must(black + installed(7))
	row := func() []uint32 {
		sa := modelOf(h).SAs.Find(xfrm.ID{Dst: netip.MustParseAddr("192.0.2.1"), Proto: "esp", SPI: 0x2007})
		return h.Fake.Table(transport.Inner, regs.InnerTableSelector)[sa.Row]
	}
	none := func(when string) {
		if got := row(); got != nil {
			t.Errorf("%s it comes out in network %d", when, regs.SelectorRow.Network.Get(got))
		}
		h.Want(when+" packets from red", goes(h.Rig, modelOf(h), 0, "10.2.0.9"), "none")
	}
	none("without an interface")
	h.Must(strings.ReplaceAll(policies(7), "priority 5", "priority 4"))
	none("behind an update")
	for range 2 {
		h.Must("link add ipsec7 type xfrm if_id 7\nroute add 10.2.0.0/16 dev ipsec7\n")
		if got := row(); got == nil || regs.SelectorRow.Network.Get(got) != 0 {
			t.Errorf("with an interface its row is %v", got)
		}
		h.Want("with an interface", goes(h.Rig, modelOf(h), 0, "10.2.0.9"), "1007")
		h.Must("route del 10.2.0.0/16 dev ipsec7\nlink del ipsec7\n")
		none("without one again")
		h.Restart()
		none("behind a restart")
	}
}
