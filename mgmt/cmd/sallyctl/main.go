// sallyctl configures and reads a Sallyport box in the words of iproute2.
package main

import (
	"errors"
	"fmt"
	"os"
)

// version is set by the linker from the file VERSION.
var version = "unknown"

// Exit statuses.
const (
	exitFailed = 1
	exitInput  = 2
)

func main() {
	root := newRoot()
	root.SetArgs(iprouteFlags(os.Args[1:]))
	err := root.Execute()
	if err == nil {
		return
	}
	if !errors.Is(err, errUnbalanced) { // which has said what there is to say
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status(err))
}

// iprouteFlags turns iproute2's one-dash options into this program's.
func iprouteFlags(args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		switch arg {
		case "-b", "-ba", "-bat", "-batc", "-batch":
			arg = "--batch"
		case "-s", "-st", "-sta", "-stat", "-stats", "-stati", "-statis", "-statist", "-statisti", "-statistic", "-statistics":
			arg = "--statistics"
		}
		out[i] = arg
	}
	return out
}
