// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/plan"
	"sallyport/mgmt/internal/xfrm"
)

// written are lines of so many routes to XFRM interfaces.
func written(b *testing.B, count int) []xfrm.Command {
	b.Helper()
	var text strings.Builder
	text.WriteString("addr add 10.1.0.1/24 dev red\naddr add 192.0.2.1/24 dev black\n")
	for n := range 64 {
		fmt.Fprintf(&text, "neigh add 192.0.2.%d lladdr 02:00:00:00:00:%02x dev black\n", n+2, n)
	}
	for n := range 4 {
		fmt.Fprintf(&text, "link add ipsec%d type xfrm dev black if_id %d\nxfrm policy add dir out if_id %[2]d action block\n", n, n+1)
	}
	for n := range count {
		fmt.Fprintf(&text, "route add 20.%d.%d.0/24 dev ipsec%d\n", n/64%256, n%64*4, n/64%4)
	}
	commands, err := xfrm.ParseConfig("routes", []byte(text.String()))
	if err != nil {
		b.Fatal(err)
	}
	return commands
}

func applied(b *testing.B, commands []xfrm.Command) *model.Model {
	b.Helper()
	m := model.NewModel()
	for _, command := range commands {
		if _, err := m.Apply(command, model.Listing{}); err != nil {
			b.Fatal(err)
		}
	}
	return m
}

// full are the sizes of a whole box for routes.
func full() compile.Sizes {
	return compile.Sizes{
		SAs: 64, FlowRows: 1 << 10, SADRows: 64, InnerRules: 256, OuterRules: 256, RedHops: 256, BlackHops: 256, Peers: 64, Window: 1024, WindowRows: 64,
		Hosts: map[string]int{xfrm.Red: 1 << 10, xfrm.Black: 1 << 10}, Prefixes: map[string]int{xfrm.Red: 1 << 14, xfrm.Black: 1 << 12},
		Policies: 1 << 8, Suites: ^uint32(0), Clock: 300_000,
	}
}

// BenchmarkWrittenRoutes plans a box anew with numbers of written routes to XFRM interfaces, alone
// and beside as many routes of Linux.
func BenchmarkWrittenRoutes(b *testing.B) {
	for _, count := range []int{1000, 4000, 16000} {
		for _, linux := range []bool{false, true} {
			b.Run(fmt.Sprintf("routes=%d/linux=%t", count, linux), func(b *testing.B) {
				m := applied(b, written(b, count))
				var all []learned.Change
				for n := 0; linux && n < count; n++ {
					p := netip.PrefixFrom(netip.AddrFrom4([4]byte{20, byte(n / 64), byte(n % 64 * 4), 128}), 25)
					all = append(all, learned.Change{Prefix: p, Route: &learned.Route{Prefix: p, Elsewhere: true}})
				}
				m.LearnRoutes(learned.Steering, all)
				for b.Loop() {
					if _, err := plan.MakePlan(m, &compile.Image{}, nil, full(), &model.Report{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkWriteRoutes takes the lines of such routes, without their plan.
func BenchmarkWriteRoutes(b *testing.B) {
	for _, count := range []int{1000, 4000, 16000} {
		b.Run(fmt.Sprintf("routes=%d", count), func(b *testing.B) {
			commands := written(b, count)
			for b.Loop() {
				applied(b, commands)
			}
		})
	}
}
