// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// release is the head of a version in the project's changelog.
var release = regexp.MustCompile(`^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)$`)

// maintainer is nfpm.yaml's.
const maintainer = "The Sallyport authors <sallyport@invalid>"

// width is that of a line, as Debian's policy would have it.
const width = 80

// wrapped is an entry, broken where its lines would be too long; nothing of no words.
func wrapped(words []string) string {
	var b strings.Builder
	line := "  *"
	for _, word := range words {
		if len(line)+1+len(word) > width {
			b.WriteString(line + "\n")
			line = "   "
		}
		line += " " + word
	}
	if len(words) > 0 {
		b.WriteString(line + "\n")
	}
	return b.String()
}

// debianLog is the changelog in Debian's form (deb-changelog(5)): the entries of each version that
// is out.
func debianLog(text string) (string, error) {
	var b strings.Builder
	var end string
	var entry []string // the words of the one that is read
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if !strings.HasPrefix(line, "  ") {
			b.WriteString(wrapped(entry))
			entry = nil
		}
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "## ") {
			b.WriteString(end)
			end = ""
			head := release.FindStringSubmatch(line)
			if head == nil {
				continue // the version that is not out yet
			}
			date, err := time.Parse(time.DateOnly, head[2])
			if err != nil {
				return "", fmt.Errorf("version %s: %w", head[1], err)
			}
			fmt.Fprintf(&b, "sallyport-mgmt (%s) unstable; urgency=medium\n\n", head[1])
			end = fmt.Sprintf("\n -- %s  %s\n\n", maintainer, date.Format(time.RFC1123Z))
		}
		switch {
		case end == "":
		case strings.HasPrefix(line, "- "):
			entry = words[1:]
		case strings.HasPrefix(line, "  "):
			entry = append(entry, words...)
		}
	}
	b.WriteString(wrapped(entry) + end)
	if b.Len() == 0 {
		return "", errors.New("no version is out: there is no line such as ## [0.1.0] - 2026-11-24")
	}
	return b.String(), nil
}
