// SPDX-License-Identifier: Apache-2.0

package main

import "strings"

// version is set by the linker from the file VERSION.
var version = "unknown"

// Exit statuses.
const (
	exitFailed = 1
	exitInput  = 2
)

// normalFlags turns iproute2's one-dash options into this program's, and gives --daemon the path
// behind it: a word with a slash, which no command is.
func normalFlags(args []string) (out []string) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch arg {
		case "-b", "-ba", "-bat", "-batc", "-batch":
			arg = "--batch"
		case "-s", "-st", "-sta", "-stat", "-stats", "-stati", "-statis", "-statist", "-statisti", "-statistic", "-statistics":
			arg = "--statistics"
		case "-j", "-js", "-jso", "-json":
			arg = "--json"
		case "--daemon":
			if i+1 < len(args) && strings.Contains(args[i+1], "/") && !strings.HasPrefix(args[i+1], "-") {
				i++
				arg += "=" + args[i]
			}
		}
		out = append(out, arg)
	}
	return out
}
