// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// TestSelfTest: the result is printed, a run is started and waited for, and a lane that has failed
// makes the exit status 1, with the box alone and through a daemon.
func TestSelfTest(t *testing.T) {
	for _, through := range []string{"--socket", "--daemon"} {
		w := newWorld(t)
		path := w.socket
		if through == "--daemon" {
			path = daemonOf(t, w)
		}
		w.fake.Set(transport.Crypto, regs.CryptoSelfTestStatus, 3<<regs.CryptoSelfTestStatusRuns.LSB)
		w.fake.Set(transport.Crypto, regs.CryptoSelfTestCycles, 300_000)
		want := "running false runs 3 cycles 300000 ms 1.000\n"
		for _, path := range []string{"encrypt", "decrypt"} {
			for _, lane := range []string{"0", "1", "2", "3"} {
				want += path + " lane " + lane + " passed\n"
			}
		}
		code, out, _, sentence := run(through, path, "selftest")
		if code != 0 || out != want || w.fake.Get(transport.Crypto, regs.CryptoSelfTestControl) != 0 {
			t.Errorf("%s: %d %s\n%s", through, code, sentence, out)
		}

		w.fake.Set(transport.Crypto, regs.CryptoSelfTestFailed, 2<<regs.CryptoSelfTestFailedDecrypt.LSB)
		code, out, _, sentence = run(through, path, "-j", "selftest", "run")
		if code != 1 || sentence != "a lane of the crypto chip is out of service" || w.fake.Get(transport.Crypto, regs.CryptoSelfTestControl) != 1 {
			t.Errorf("%s: %d %s", through, code, sentence)
		}
		result := check(t, "selftest", out).(map[string]any)
		if lanes := result["decrypt"].([]any); len(lanes) != 1 || len(result["encrypt"].([]any)) != 0 {
			t.Errorf("%s: %s", through, out)
		}
	}
}

// TestSelfTestStays: a run that does not end is an error, not a wait.
func TestSelfTestStays(t *testing.T) {
	w := newWorld(t)
	w.fake.Set(transport.Crypto, regs.CryptoSelfTestStatus, 1)
	if code, _, _, sentence := run("--socket", w.socket, "selftest", "run"); code != 1 || sentence != "the self-test does not end: look at the crypto chip's clock and tamper input" {
		t.Errorf("%d %s", code, sentence)
	}
}
