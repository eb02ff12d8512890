// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"fmt"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
)

// twoTunnels are two SA pairs of reqid 1 and 2; the first pair's in and fwd policies are one
// selector, and two out policies name its SA.
func twoTunnels() string {
	text := "addr add 192.0.2.1/24 dev black\n"
	for reqid := 1; reqid <= 2; reqid++ {
		text += testbox.Sa6("192.0.2.1", "192.0.2.2", 0x1000+reqid, reqid, "dir out") + testbox.Sa6("192.0.2.2", "192.0.2.1", 0x2000+reqid, reqid, "dir in") +
			fmt.Sprintf("xfrm policy add dst 10.%d.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid %[1]d mode tunnel\n", reqid) +
			fmt.Sprintf("xfrm policy add src 10.%d.0.0/16 dir fwd tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid %[1]d mode tunnel\n", reqid)
	}
	return text + "xfrm policy add dst 10.9.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel\n"
}

// TestPolicyChangeAndSAs: the administrator chooses whether SAs go with the last policy that names
// them, or stay (RFC 4301, 4.4.1).
func TestPolicyChangeAndSAs(t *testing.T) {
	const all = "1001 2001 1002 2002"
	turned := "xfrm policy update dst 10.2.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel"
	for _, test := range []struct{ lines, left string }{
		{"xfrm policy delete dst 10.2.0.0/16 dir out", all},
		{"xfrm policy delete dst 10.2.0.0/16 dir out sas keep", all},
		{"xfrm policy delete dst 10.2.0.0/16 dir out sas delete", "1001 2001 2002"},
		{"xfrm policy delete sas delete src 10.2.0.0/16 dir fwd", "1001 2001 1002"},
		// Another policy names the SA still.
		{"xfrm policy delete dst 10.1.0.0/16 dir out sas delete", all},
		{"xfrm policy delete dst 10.1.0.0/16 dir out sas delete\nxfrm policy delete dst 10.9.0.0/16 dir out sas delete", "2001 1002 2002"},
		{"xfrm policy deleteall dir out sas delete", "2001 2002"},
		{"xfrm policy deleteall dir out", all},
		{"xfrm policy flush", all},
		{"xfrm policy flush sas delete", ""},
		// A policy that turns to another SA leaves its old one.
		{turned, all},
		{turned + " sas delete", "1001 2001 2002"},
		{"xfrm policy update dst 10.2.0.0/16 dir out action block sas delete", "1001 2001 2002"},
	} {
		r := newRig(t, fakebox.Small)
		r.Must(twoTunnels())
		r.Must(test.lines)
		r.Must("xfrm state list")
		var left []string
		for _, spi := range strings.Fields(all) {
			if strings.Contains(r.Out, "spi 0x0000"+spi) {
				left = append(left, spi)
			}
		}
		r.Want(test.lines, strings.Join(left, " "), test.left)
	}
	for line, reason := range map[string]string{
		"xfrm policy flush sas":                              "the line ends where keep or delete should follow",
		"xfrm policy delete dst 10.2.0.0/16 dir out sas all": "sas must be keep or delete, what becomes of SAs that no policy names any more, not \"all\"",
		"xfrm policy add dst 10.3.0.0/16 dir out sas delete": "unexpected word \"sas\"",
		"xfrm policy list sas delete":                        "unexpected word \"sas\"",
	} {
		r := newRig(t, fakebox.Small)
		if err := r.Run(line); err == nil || !strings.Contains(err.Error(), "f:1: "+reason) || !session.IsInput(err) {
			t.Errorf("%s gave %v", line, err)
		}
	}
}
