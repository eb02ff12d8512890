// SPDX-License-Identifier: Apache-2.0

package control

// ConfigVerb is what a request is to do with the configuration.
type ConfigVerb string

// The verbs.
const (
	ConfigShow    ConfigVerb = "show"    // the running configuration
	ConfigSaved   ConfigVerb = "saved"   // the saved one
	ConfigSave    ConfigVerb = "save"    // save the running one
	ConfigLoad    ConfigVerb = "load"    // run another
	ConfigConfirm ConfigVerb = "confirm" // keep the loaded one
)

// MostConfirm is how many seconds a load may wait for its confirmation at most.
const MostConfirm = 3600

// ConfigRequest is about the configuration without its SAs.
type ConfigRequest struct {
	Head
	Verb ConfigVerb `json:"verb"`
	// Of a load: its lines, their file's name in errors, and in how many seconds it is undone
	// without a confirmation; 0: never.
	Lines   []Line `json:"lines,omitempty"`
	File    string `json:"file,omitempty"`
	Confirm int    `json:"confirm,omitempty"`
}

// Config is the answer: lines to show, warnings and notes, and when a load that waits for its
// confirmation is undone, in seconds since the epoch.
type Config struct {
	Lines []string `json:"lines"`
	Notes []string `json:"notes"`
	Undo  int64    `json:"undo,omitempty"`
}
