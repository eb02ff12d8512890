// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

const copyrightHead = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Sallyport
Comment: The programs are static. Files of modules of Go are named by module and version.

Files: *
Copyright: 2026 The Sallyport authors
License: Apache-2.0

Files: mgmt/internal/web/assets/uPlot*
Copyright: 2022 Leon Sorokin
License: MIT
Comment: Its text is in uPlot.LICENSE.txt.
`

const commonLicence = `
License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.
`

// copyright is the file of that name (DEP-5). What asks for its text has it; Debian has Apache's.
func copyright(modules []module) string {
	var b strings.Builder
	b.WriteString(copyrightHead)
	for _, m := range modules {
		for _, l := range m.licences {
			fmt.Fprintf(&b, "\nFiles: %s@%s/*\n", m.path, m.version)
			holders := l.holders
			if len(holders) == 0 {
				holders = []string{"The authors of " + m.path}
			}
			fmt.Fprintf(&b, "Copyright: %s\n", strings.Join(holders, "\n           "))
			fmt.Fprintf(&b, "License: %s\n", l.name)
			if l.name != "Apache-2.0" {
				b.WriteString(indented(l.text))
			}
			if m.notice != "" {
				b.WriteString("Comment:\n" + indented(m.notice))
			}
		}
	}
	return b.String() + commonLicence
}

// indented is the text of a field: an empty line is a dot.
func indented(text string) string {
	var b strings.Builder
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimRight(line, " \t\r\f"); line == "" {
			line = "."
		}
		b.WriteString(" " + line + "\n")
	}
	return b.String()
}
