// SPDX-License-Identifier: Apache-2.0

//go:build !pages

// sallyportd is the daemon that owns a Sallyport box: docs/reference/sallyportd.md.
package main

import (
	"errors"
	"fmt"
	"os"

	"sallyport/mgmt/internal/session"
)

func main() {
	if err := newRoot().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		var usage usageError
		if errors.As(err, &usage) || session.IsInput(err) {
			os.Exit(exitInput)
		}
		os.Exit(exitFailed)
	}
}
