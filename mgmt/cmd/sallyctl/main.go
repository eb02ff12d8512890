// SPDX-License-Identifier: Apache-2.0

//go:build !pages

// sallyctl configures and reads a Sallyport box in the words of iproute2.
package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	root := newRoot()
	root.SetArgs(normalFlags(os.Args[1:]))
	err := root.Execute()
	if err == nil {
		return
	}
	// which have said what there is to say
	if !errors.Is(err, errUnbalanced) && !errors.Is(err, errUnread) {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status(err))
}
