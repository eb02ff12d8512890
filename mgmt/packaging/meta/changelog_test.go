// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

// TestDebianLog: versions that are out, with entries of lines that are not too long.
func TestDebianLog(t *testing.T) {
	text := "# Changelog\n\n## [Unreleased]\n\n- Not yet.\n\n## [0.2.0] - 2026-11-24\n\n### Added\n\nESP:\n\n- One\n  line.\n" +
		"- A longer entry of words that do not all fit into one line of eighty columns, so two.\n\n## [0.1.0] - 2026-01-02\n\n- First.\n"
	want := "sallyport-mgmt (0.2.0) unstable; urgency=medium\n\n  * One line.\n  * A longer entry of words that do not all fit into one line of eighty columns,\n    so two.\n" +
		"\n -- The Sallyport authors <sallyport@invalid>  Tue, 24 Nov 2026 00:00:00 +0000\n\n" +
		"sallyport-mgmt (0.1.0) unstable; urgency=medium\n\n  * First.\n\n -- The Sallyport authors <sallyport@invalid>  Fri, 02 Jan 2026 00:00:00 +0000\n\n"
	if got, err := debianLog(text); err != nil || got != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
	if _, err := debianLog("## [Unreleased]\n- a\n"); err == nil {
		t.Error("a changelog without a version is taken")
	}
}
