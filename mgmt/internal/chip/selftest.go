// SPDX-License-Identifier: Apache-2.0

package chip

import (
	"math/bits"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// SelfTest is what the self-test of the crypto chip's lanes has found.
type SelfTest struct {
	Running bool `json:"running"`
	// Runs since the chip's reset.
	Runs uint32 `json:"runs"`
	// Cycles that the last run took, and that in seconds.
	Cycles  uint32  `json:"cycles"`
	Seconds float64 `json:"seconds"`
	// Lanes of each path, and those that are out of service.
	Lanes   int   `json:"lanes"`
	Encrypt []int `json:"encrypt"`
	Decrypt []int `json:"decrypt"`
}

// Closed are the paths that have no lane left: nothing crosses them.
func (s SelfTest) Closed() (paths []string) {
	for _, p := range s.Paths() {
		if s.Lanes > 0 && len(p.Failed) == s.Lanes {
			paths = append(paths, p.Name)
		}
	}
	return paths
}

// LanePath is a path of the crypto chip with its lanes that are out of service.
type LanePath struct {
	Name   string
	Failed []int
}

// Paths are both.
func (s SelfTest) Paths() []LanePath {
	return []LanePath{{"encrypt", s.Encrypt}, {"decrypt", s.Decrypt}}
}

// SelfTest reads it.
func (b *Box) SelfTest() (SelfTest, error) {
	words, err := b.ReadAll(
		Source{transport.Crypto, regs.CryptoSelfTestStatus}, Source{transport.Crypto, regs.CryptoSelfTestFailed},
		Source{transport.Crypto, regs.CryptoSelfTestCycles},
	)
	if err != nil {
		return SelfTest{}, err
	}
	status, failed := words[:1], words[1:2]
	return SelfTest{
		Running: regs.CryptoSelfTestStatusRunning.Get(status) == 1, Runs: uint32(regs.CryptoSelfTestStatusRuns.Get(status)),
		Cycles: words[2], Seconds: b.Clock(transport.Crypto).Time(int64(words[2])).Seconds(),
		Lanes:   b.Capabilities[transport.Crypto].Lanes,
		Encrypt: lanes(regs.CryptoSelfTestFailedEncrypt.Get(failed)), Decrypt: lanes(regs.CryptoSelfTestFailedDecrypt.Get(failed)),
	}, nil
}

// RunSelfTest starts a run, unless one runs.
func (b *Box) RunSelfTest() error {
	row := []uint32{0}
	regs.CryptoSelfTestControlRun.Put(row, 1)
	return b.Write32(transport.Crypto, regs.CryptoSelfTestControl, row[0])
}

// lanes are the numbers of the bits that are set.
func lanes(set uint64) []int {
	out := []int{}
	for ; set != 0; set &= set - 1 {
		out = append(out, bits.TrailingZeros64(set))
	}
	return out
}
