// SPDX-License-Identifier: Apache-2.0

// Package api has what the clients of sallyportd's API and the daemon agree on beside the messages
// of sallyport/v1: the version, the sockets, and how text that may hold keys is sealed
// (docs/reference/api.md).
package api

import (
	"path/filepath"
	"strings"
)

// Version is the major and minor version of the API. A minor version only adds.
const Version = "1.1"

// VersionHeader is the header of each answer that has Version.
const VersionHeader = "Sallyport-Api"

// Major is the part of a version that client and daemon must share.
func Major(version string) string {
	major, _, _ := strings.Cut(version, ".")
	return major
}

// MaxMessage is the longest message in bytes, each way.
const MaxMessage = 1 << 20

// DefaultPath is where the daemon has its socket unless its configuration says otherwise.
const DefaultPath = "/run/sallyport/api.sock"

const readEnd = "-read.sock"

// Path is the socket of the daemon whose control socket is at a path: api.sock beside
// control.sock, and box0-api.sock beside box0.sock. The path of an API's socket is its own.
func Path(control string) string {
	folder, name := filepath.Split(control)
	switch {
	case strings.HasSuffix(name, readEnd):
		return ReadPath(Path(folder + strings.TrimSuffix(name, readEnd) + ".sock"))
	case strings.Contains(name, "control"):
		return folder + strings.Replace(name, "control", "api", 1)
	case strings.Contains(name, "api"):
		return control
	}
	return folder + strings.TrimSuffix(name, ".sock") + "-api.sock"
}

// ReadPath is the socket for those who may read alone, beside another.
func ReadPath(path string) string { return strings.TrimSuffix(path, ".sock") + readEnd }
