// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/xfrm"
)

// TestInstalled: the first SAs and policies with what they have carried, and no row is read for
// any other.
func TestInstalled(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Must(testbox.Limited("add", "in", 7, "limit packet-hard 5") + testbox.Limited("add", "in", 9, "") + testbox.Limited("add", "out", 11, "") +
		`xfrm state add src 192.0.2.9 dst 192.0.2.10 proto esp spi 8 reqid 9 mode tunnel replay-window 64 dir in aead "rfc4106(gcm(aes))" 0x00000000000000ff0102030405060708090a0b0c 128
xfrm policy add src 10.9.0.0/16 dst 10.8.0.0/16 dir fwd tmpl src 192.0.2.9 dst 192.0.2.10 proto esp reqid 9 mode tunnel
xfrm policy add src 10.7.0.0/16 dst 10.6.0.0/16 dir in action block
`)
	for row, times := range []int{1, 2, 4} {
		for range times {
			r.carry(regs.InnerTableInboundUsage, row, 100)
		}
	}
	read := func(most int) (out session.Installed) {
		err := r.Session(func(s *session.Session) (err error) {
			v, err := s.Look()
			if err == nil {
				out, err = v.Installed(most)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if out.SAs[xfrm.DirIn] != 3 || out.SAs[xfrm.DirOut] != 1 || out.Policies[xfrm.DirFwd] != 1 || out.Policies[xfrm.DirIn] != 1 {
			t.Errorf("%+v", out)
		}
		return out
	}
	all := read(4)
	if len(all.FirstSAs) != 4 || len(all.FirstPolicies) != 2 {
		t.Fatalf("%+v", all)
	}
	if sa := all.FirstSAs[0]; sa.SPI != 7 || sa.Dir != xfrm.DirIn || sa.Suite != "aes128gcm16" || sa.Packets != 1 || sa.Bytes != 100 || sa.Added == 0 {
		t.Errorf("%+v", sa)
	}
	if p := all.FirstPolicies[0]; !p.Counted || p.Packets != 2+4 || p.Bytes != 600 || p.Selector != "src 10.9.0.0/16 dst 10.8.0.0/16" {
		t.Errorf("%+v", p)
	}
	if p := all.FirstPolicies[1]; p.Counted || p.Action != xfrm.ActionBlock || p.Template != nil {
		t.Errorf("%+v", p)
	}
	if few := read(1); len(few.FirstSAs) != 1 || len(few.FirstPolicies) != 1 || few.FirstPolicies[0].Counted {
		t.Errorf("%+v", few)
	}
}
