// SPDX-License-Identifier: Apache-2.0

package session

import (
	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/clock"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// bucketInterval is the cycles in which a token bucket gains its rate.
const bucketInterval = 1 << 26

// bucketRegisters are those of the buckets, by port and group.
var bucketRegisters = map[[2]string]chip.Source{
	{xfrm.Red, "other"}:            {Chip: transport.Inner, Register: regs.InnerLimitOther},
	{xfrm.Red, "arp"}:              {Chip: transport.Inner, Register: regs.InnerLimitArp},
	{xfrm.Red, "nd"}:               {Chip: transport.Inner, Register: regs.InnerLimitNd},
	{xfrm.Red, "resolution"}:       {Chip: transport.Inner, Register: regs.InnerLimitResolution},
	{xfrm.Red, "link_local"}:       {Chip: transport.Inner, Register: regs.InnerLimitLinkLocal},
	{xfrm.Red, "mtu"}:              {Chip: transport.Inner, Register: regs.InnerLimitMtu},
	{xfrm.Red, "ttl"}:              {Chip: transport.Inner, Register: regs.InnerLimitTtl},
	{xfrm.Red, "local"}:            {Chip: transport.Inner, Register: regs.InnerLimitLocal},
	{xfrm.Red, "tunnel"}:           {Chip: transport.Inner, Register: regs.InnerLimitTunnel},
	{xfrm.Red, "clear"}:            {Chip: transport.Inner, Register: regs.InnerLimitClear},
	{xfrm.Red, "tunnel_mtu"}:       {Chip: transport.Inner, Register: regs.InnerLimitTunnelMtu},
	{xfrm.Red, "clear_mtu"}:        {Chip: transport.Inner, Register: regs.InnerLimitClearMtu},
	{xfrm.Red, "tunnel_ttl"}:       {Chip: transport.Inner, Register: regs.InnerLimitTunnelTtl},
	{xfrm.Red, "clear_ttl"}:        {Chip: transport.Inner, Register: regs.InnerLimitClearTtl},
	{xfrm.Red, "tunnel_host"}:      {Chip: transport.Inner, Register: regs.InnerLimitTunnelHost},
	{xfrm.Red, "clear_host"}:       {Chip: transport.Inner, Register: regs.InnerLimitClearHost},
	{xfrm.Red, "tunnel_route"}:     {Chip: transport.Inner, Register: regs.InnerLimitTunnelRoute},
	{xfrm.Red, "clear_route"}:      {Chip: transport.Inner, Register: regs.InnerLimitClearRoute},
	{xfrm.Red, "hairpin"}:          {Chip: transport.Inner, Register: regs.InnerLimitHairpin},
	{xfrm.Red, xfrm.InjectGroup}:   {Chip: transport.Inner, Register: regs.InnerLimitInject},
	{xfrm.Red, xfrm.InjectPolicy}:  {Chip: transport.Inner, Register: regs.InnerLimitInjectEncrypt},
	{xfrm.Black, "other"}:          {Chip: transport.Outer, Register: regs.OuterLimitOther},
	{xfrm.Black, "ike"}:            {Chip: transport.Outer, Register: regs.OuterLimitIke},
	{xfrm.Black, "ike_cookie"}:     {Chip: transport.Outer, Register: regs.OuterLimitIkeCookie},
	{xfrm.Black, "ike_init"}:       {Chip: transport.Outer, Register: regs.OuterLimitIkeInit},
	{xfrm.Black, "arp"}:            {Chip: transport.Outer, Register: regs.OuterLimitArp},
	{xfrm.Black, "nd"}:             {Chip: transport.Outer, Register: regs.OuterLimitNd},
	{xfrm.Black, "resolution"}:     {Chip: transport.Outer, Register: regs.OuterLimitResolution},
	{xfrm.Black, "link_local"}:     {Chip: transport.Outer, Register: regs.OuterLimitLinkLocal},
	{xfrm.Black, "icmp"}:           {Chip: transport.Outer, Register: regs.OuterLimitIcmp},
	{xfrm.Black, "unknown_spi"}:    {Chip: transport.Outer, Register: regs.OuterLimitSpi},
	{xfrm.Black, "reasm"}:          {Chip: transport.Outer, Register: regs.OuterLimitReasm},
	{xfrm.Black, "clear_host"}:     {Chip: transport.Outer, Register: regs.OuterLimitClearHost},
	{xfrm.Black, "clear_route"}:    {Chip: transport.Outer, Register: regs.OuterLimitClearRoute},
	{xfrm.Black, xfrm.InjectGroup}: {Chip: transport.Outer, Register: regs.OuterLimitInject},
}

// bucketValue is what a limit is on a chip of some clock; every token_bucket has the same layout.
// Below 300 MHz the highest rates are those that the register holds, and a bit lower.
func bucketValue(l model.Limit, core clock.Clock) uint32 {
	rate := min((uint64(l.Rate)*bucketInterval+core.Hz()/2)/core.Hz(), 1<<regs.InnerLimitInjectRate.Width-1)
	return uint32(rate)<<regs.InnerLimitInjectRate.LSB | l.Burst<<regs.InnerLimitInjectBurst.LSB
}

// limits writes the buckets that were ever set, or all if the state of the chips is unknown.
func (s *Session) limits(m *model.Model, all bool) error {
	for _, b := range model.Buckets {
		if _, set := m.Punt[b.Dev][b.Group]; !set && !all {
			continue
		}
		to := bucketRegisters[[2]string{b.Dev, b.Group}]
		if err := s.Box.Write32(to.Chip, to.Register, bucketValue(m.Limit(b), s.Box.Clock(to.Chip))); err != nil {
			return err
		}
	}
	return nil
}
