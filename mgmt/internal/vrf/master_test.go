// SPDX-License-Identifier: Apache-2.0

package vrf_test

import (
	"fmt"
	"strings"
	"testing"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/xfrm"
)

// TestMasterOfInterfaces: an interface takes its routes along, and is listed, saved and loaded with
// its VRF. Without policies and SAs it may change.
func TestMasterOfInterfaces(t *testing.T) {
	h := held(t)
	lines := modelOf(h).Lines()
	text := strings.Join(lines, "\n")
	for _, line := range []string{"link set dev ipsec7 master blue", "route add 10.2.0.0/16 dev ipsec8 vrf green"} {
		if !strings.Contains(text, line) {
			t.Errorf("the lines have no %s:\n%s", line, text)
		}
	}
	other := model.NewModel().Begin()
	commands, err := xfrm.ParseConfig("f", []byte(text))
	if err == nil {
		err = other.Replace(commands)
	}
	h.Want("lines", fmt.Sprint(strings.Join(other.Lines(), "\n"), err), text+"<nil>")
	h.Must("route del 10.2.0.0/16 dev ipsec8\nroute add 10.2.0.0/17 dev ipsec8 vrf green\nlink set ipsec8 master blue\n" + installed(8))
	h.Want("moved", goes(h.Rig, modelOf(h), 10, "10.2.0.9")+" "+goes(h.Rig, modelOf(h), 20, "10.2.0.9"), "1008 none")
	v, err := h.Daemon.Look()
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"link show":  "ipsec8 type xfrm dev black if_id 0x8 master blue\n",
		"route show": "10.2.0.0/17 dev ipsec8 vrf blue\n",
		"vrf show":   "blue table 10 dev red.10,ipsec7,ipsec8\n",
	} {
		parsed, err := xfrm.Parse(xfrm.Words(strings.Fields(command)))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := v.Read([]xfrm.Command{parsed}, session.Lists{}); err != nil || !strings.Contains(text, want) {
			t.Errorf("%s says %s, %v", command, text, err)
		}
	}
	h.Must("xfrm policy deleteall if_id 8\nxfrm state flush\nlink set ipsec8 nomaster\n" + strings.ReplaceAll(installed(8), "0x0000", "0x1111"))
	h.Want("in none", goes(h.Rig, modelOf(h), 0, "10.2.0.9")+" "+goes(h.Rig, modelOf(h), 10, "10.2.0.9"), "1008 none")
}

// TestMasterRefused: each line that would leave a policy, an SA or a route in another network than
// its interface is refused in one sentence, and nothing is written.
func TestMasterRefused(t *testing.T) {
	h := held(t)
	h.Must(installed(7) + "link add ipsec9 type xfrm dev black if_id 9\nlink add empty type vrf table 30\n" + testbox.Sa6("192.0.2.1", "192.0.2.2", 0x1009, 9, "dir out if_id 9"))
	tmpl := " tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 7 mode tunnel"
	for text, reason := range map[string]string{
		"link set ipsec7 master green":                                                    "ipsec7 cannot change its VRF beside the policy src 10.1.0.0/16 dst 10.2.0.0/16 dev blue dir out of its if_id 0x7: delete all policies and SAs of that if_id first",
		"link set ipsec7 nomaster":                                                        "ipsec7 cannot change its VRF beside the policy",
		"link set ipsec9 master blue":                                                     "ipsec9 cannot change its VRF beside the SA dst 192.0.2.2 spi 0x1009 of its if_id 0x9: delete all SAs of that if_id first",
		"link set ipsec8 master pink":                                                     "there is no VRF pink: write `link add pink type vrf table N` first",
		"link set ipsec8 master red.10":                                                   "red.10 is a VLAN of the VRF blue: name the VRF",
		"link set ipsec8 master ipsec7":                                                   "there is no VRF ipsec7",
		"link set ipsec6 master blue":                                                     "unknown device \"ipsec6\"",
		"link set blue master green":                                                      "blue cannot go into a VRF: a VRF has VLANs of red and XFRM interfaces alone",
		"link set ipsec8 master":                                                          "the bridge or the VRF after master",
		"link del ipsec8":                                                                 "ipsec8 is in the VRF green: take it out first, `link set ipsec8 nomaster`",
		"link set ipsec8 master empty\nlink del empty":                                    "the VRF empty has ipsec8: take it out first, `link set ipsec8 nomaster`",
		"link set red.20 nomaster\nlink del green":                                        "the VRF green has ipsec8: take it out first",
		"route add 10.8.0.0/16 dev ipsec7 vrf green":                                      "ipsec7 is not in the VRF green",
		"route add 10.8.0.0/16 dev ipsec9 vrf green":                                      "ipsec9 is not in the VRF green",
		"route add 10.8.0.0/16 dev ipsec7 table 254":                                      "the table 254 is not that of the device",
		"route add 10.8.0.0/16 via 10.1.0.2 dev ipsec7":                                   "has no gateway",
		"route add 2001:db8::/65 dev ipsec7":                                              "longer than /64",
		"xfrm policy add dst 10.8.0.0/16 dev green dir out if_id 7" + tmpl:                "the interface ipsec7 of if_id 0x7 is in the VRF blue, not in green: name that one, or none",
		"xfrm policy add dst 10.8.0.0/16 dev pink dir out if_id 7" + tmpl:                 "there is no VRF pink",
		"xfrm policy add dst 10.8.0.0/16 dev blue dir out if_id 9" + tmpl:                 "the interface ipsec9 of if_id 0x9 is in no VRF: leave out dev blue",
		"xfrm policy add dst 10.8.0.0/16 dev blue dir out if_id 6" + tmpl:                 "no XFRM interface has if_id 0x6, so its policies are in no VRF: leave out dev blue",
		"xfrm policy add dst 10.8.0.0/16 dev blue dir out if_id 7":                        "an XFRM interface sends no clear packets",
		"xfrm policy add dst 10.8.0.0/16 dev blue dir in if_id 7 action block":            "needs a tmpl",
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dev blue dir out if_id 7" + tmpl: "a second policy with dir out",
		"xfrm policy delete src 10.1.0.0/16 dst 10.2.0.0/16 dev green dir out if_id 7":    "is in the VRF blue, not in green",
		"xfrm policy delete src 10.1.0.0/16 dst 10.2.0.0/16 dev blue dir out":             "there is no such policy",
		"xfrm policy delete src 10.1.0.0/16 dst 10.2.0.0/16 dir out":                      "there is no such policy",
	} {
		before, writes := h.Snapshot(), h.Fake.Writes
		commands, err := xfrm.ParseBatch("f", []byte(text+"\n"))
		if err == nil {
			err = h.Daemon.Run(commands)
		}
		if err == nil || !strings.Contains(err.Error(), reason) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\n gave %v\n want %s", text, err, reason)
		}
		if h.Snapshot() != before || h.Fake.Writes != writes {
			t.Errorf("%s: something was written", text)
		}
	}
	h.Must("link set ipsec7 master blue\nlink set ipsec8 master green\n") // where they are
	h.Must(installed(8))
	wantBoth(h, "behind all that was refused")
}

// TestLoadBesideSAs: a configuration that is loaded beside the SAs of IKE may not give their
// interface another VRF; with the same one they go on.
func TestLoadBesideSAs(t *testing.T) {
	h := held(t)
	h.Must(installed(7) + installed(8))
	text := strings.Join(modelOf(h).Lines(), "\n")
	load := func(text string) error {
		commands, err := xfrm.ParseConfig("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return modelOf(h).Begin().Replace(commands)
	}
	if err := load(text); err != nil {
		t.Error(err)
	}
	// A file that names the if_id alone says the same.
	if err := load(strings.NewReplacer("dev blue dir", "dir", "dev green dir", "dir").Replace(text)); err != nil {
		t.Error(err)
	}
	swap := strings.NewReplacer("ipsec7 master blue", "ipsec7 master green", "ipsec8 master green", "ipsec8 master blue", "dev blue dir", "dir", "dev green dir", "dir", " vrf blue", "", " vrf green", "")
	if err := load(swap.Replace(text)); err == nil || !strings.Contains(err.Error(), `the interface of if_id 0x7 would change from the VRF "blue" to "green" beside the SA`) {
		t.Error(err)
	}
}

// TestMasterFails: a card that fails at any write of a change of masters leaves the change undone
// or done, for the next daemon too, and never a policy in another network than its interface.
func TestMasterFails(t *testing.T) {
	for _, change := range []string{"link set ipsec8 master blue\n" + installed(8), "link set ipsec8 nomaster\n" + installed(8), installed(8)} {
		for n := 0; ; n += 1 + n/8 {
			h := held(t)
			h.Must(installed(7))
			h.Fake.FailAfter = n + 1
			err := h.Change(change)
			h.Fake.FailAfter = 0
			h.Restart()
			h.Must("link set red up\n")
			m := modelOf(h)
			for p := range m.Policies.All() {
				for _, i := range m.Interfaces {
					if p.IfID == i.IfID && p.VRF != i.VRF {
						t.Fatalf("write %d: the policy %s of if_id %d is not in the VRF %q of its interface", n, p.Selector, p.IfID, i.VRF)
					}
				}
			}
			h.Want(fmt.Sprintf("write %d: blue", n), goes(h.Rig, m, 10, "10.2.0.9"), "1007")
			if err == nil {
				break
			}
		}
	}
}

// TestLoadTakenBack: SAs that came while an interface was in a VRF do not keep a load from being
// undone; another load is refused beside them. The lines of policies with an if_id name no VRF, so
// they are read wherever the interface is.
func TestLoadTakenBack(t *testing.T) {
	h := held(t)
	h.Must(installed(7))
	text := strings.Join(modelOf(h).Lines(), "\n")
	for _, line := range strings.Split(text, "\n") {
		if strings.Contains(line, "if_id 0x00000007") && strings.Contains(line, "dev blue") {
			t.Errorf("a line names the VRF: %s", line)
		}
	}
	before := strings.NewReplacer("link set dev ipsec7 master blue\n", "", "dev ipsec7 vrf blue", "dev ipsec7").Replace(text)
	commands, err := xfrm.ParseConfig("f", []byte(before))
	if err != nil || before == text {
		t.Fatal(before, err)
	}
	err = h.Daemon.Replace(commands)
	h.Want("another load", fmt.Sprint(err), `the interface of if_id 0x7 would change from the VRF "blue" to "" beside the SA dst 192.0.2.2 spi 0x1007: delete all SAs of that if_id first`)
	wantOne := func(when, vlan0, vlan10 string) {
		h.Want(when, goes(h.Rig, modelOf(h), 0, "10.2.0.9")+" "+goes(h.Rig, modelOf(h), 10, "10.2.0.9"), vlan0+" "+vlan10)
	}
	wantOne("refused", "none", "1007")
	if err := h.Daemon.PutBack(commands); err != nil {
		t.Fatal(err)
	}
	wantOne("taken back", "1007", "none")
}

// TestSelInVRF: the sel of an SA names no VRF, and is of the one of its policy.
func TestSelInVRF(t *testing.T) {
	h := held(t)
	sel := "xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1007 reqid 7 mode tunnel dir out if_id 7 sel src 10.1.0.0/16 dst 10.2.0.0/16 aead 'rfc4106(gcm(aes))' 0x" + strings.Repeat("3", 40) + " 128\n" +
		"xfrm state add src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x2007 reqid 7 mode tunnel dir in if_id 7 sel src 10.2.0.0/16 dst 10.1.0.0/16 aead 'rfc4106(gcm(aes))' 0x" + strings.Repeat("4", 40) + " 128\n"
	h.Must(sel + policies(7))
	h.Want("out", goes(h.Rig, modelOf(h), 10, "10.2.0.9"), "1007")
}
