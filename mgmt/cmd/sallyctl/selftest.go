// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"sallyport/mgmt/internal/chip"
)

// A run takes 2 ms at most if a lane hangs, so the wait ends only if the chip does not go on.
const (
	selfTestPause = 10 * time.Millisecond
	selfTestLooks = 500
)

func newSelfTest(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "selftest", Short: "Print how the last self-test of the crypto chip's lanes ended; 1 if a lane is out of service", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.selfTest(cmd, false) },
	}
	cmd.AddCommand(&cobra.Command{
		Use: "run", Short: "Run the self-test under traffic, wait for its end, and print how it ended", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.selfTest(cmd, true) },
	})
	return cmd
}

// errLane is of a box with a lane out of service.
var errLane = errors.New("a lane of the crypto chip is out of service")

func (o *options) selfTest(cmd *cobra.Command, run bool) error {
	var result chip.SelfTest
	err := o.with(cmd, func(t target) (err error) {
		result, err = t.selfTest(run)
		for looks := 0; err == nil && run && result.Running; looks++ {
			if looks == selfTestLooks {
				return errors.New("the self-test does not end: look at the crypto chip's clock and tamper input")
			}
			time.Sleep(selfTestPause)
			result, err = t.selfTest(false)
		}
		return err
	})
	if err != nil {
		return err
	}
	if o.lists.JSON {
		err = printJSON(cmd, result)
	} else {
		printSelfTest(cmd.OutOrStdout(), result)
	}
	if len(result.Encrypt)+len(result.Decrypt) > 0 {
		err = errors.Join(err, errLane)
	}
	return err
}

func printSelfTest(out io.Writer, r chip.SelfTest) {
	fmt.Fprintf(out, "running %t runs %d cycles %d ms %.3f\n", r.Running, r.Runs, r.Cycles, 1000*r.Seconds)
	for _, path := range r.Paths() {
		for lane := range r.Lanes {
			state := "passed"
			if slices.Contains(path.Failed, lane) {
				state = "failed"
			}
			fmt.Fprintf(out, "%s lane %d %s\n", path.Name, lane, state)
		}
	}
}
