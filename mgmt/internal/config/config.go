// SPDX-License-Identifier: Apache-2.0

// Package config reads the daemon's configuration, one TOML file (docs/reference/sallyportd.md).
package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"sallyport/mgmt/api"
	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/place"
	"sallyport/mgmt/internal/xfrm"
)

// DefaultPath is where the file is unless --config says otherwise.
const DefaultPath = "/etc/sallyport/sallyportd.toml"

// Config is the file's content. A missing key has the value of Default.
type Config struct {
	// Registers says how the chips are reached: unix:PATH, pci:CRYPTO or pci:INNER,CRYPTO,OUTER.
	Registers Registers `toml:"registers"`
	// State is the file that keeps the configuration; empty: where sallyctl has it for the
	// same box.
	State Path `toml:"state"`
	// Initial is a batch file that a box gets which has no configuration.
	Initial Path `toml:"initial_batch"`
	// Saved is the saved configuration; empty: where Place.Saved has it.
	Saved   Path    `toml:"saved"`
	Control Control `toml:"control"`
	API     API     `toml:"api"`
	Events  Events  `toml:"events"`
	Taps    Taps    `toml:"taps"`
	ICMP    ICMP    `toml:"icmp"`
	Noise   Noise   `toml:"noise"`
	Peer    Peer    `toml:"peer"`
	Metrics Metrics `toml:"metrics"`
	Web     Web     `toml:"web"`
	Log     Log     `toml:"log"`
}

// Control is the control socket, and the API's beside it. Group may use both besides the daemon's
// own user; empty: the daemon's group. ReadGroup has sockets of its own, on which it may ask and
// change nothing; empty: there are none.
type Control struct {
	Path      Path  `toml:"path"`
	Group     Group `toml:"group"`
	ReadGroup Group `toml:"read_group"`
}

// ReadPath is the socket of ReadGroup, beside the other.
func (c Control) ReadPath() string { return control.ReadPath(c.Path.Name) }

// API is the socket of the API.
func (c Control) API() string { return api.Path(c.Path.Name) }

// ReadAPI is the one of ReadGroup.
func (c Control) ReadAPI() string { return api.ReadPath(c.API()) }

// Events says how often the chips are asked for events.
type Events struct {
	Poll Period `toml:"poll"`
}

// Taps are the devices where Linux is the host behind the ports, and behind the tunnels; without
// names there are none. XFRM are those of XFRM interfaces, by the interfaces' names.
type Taps struct {
	Red     Device   `toml:"red"`
	Black   Device   `toml:"black"`
	Tunnels Device   `toml:"tunnels"`
	XFRM    []Device `toml:"xfrm"`
}

// ICMP says whether messages from black lower the path MTU of an SA, and for how long.
type ICMP struct {
	PathMTU bool `toml:"path_mtu"`
	Age     Age  `toml:"path_mtu_age"`
}

// mostInterfaces is how many XFRM interfaces have devices.
const mostInterfaces = 256

// Interfaces are the names of the devices of XFRM interfaces.
func (t Taps) Interfaces() (names []string) {
	for _, device := range t.XFRM {
		names = append(names, device.Name)
	}
	return names
}

// wrongInterfaces names the fault of the devices of XFRM interfaces; empty if they have none.
func (t Taps) wrongInterfaces() string {
	seen := map[string]bool{t.Red.Name: true, t.Black.Name: true, t.Tunnels.Name: true}
	for _, name := range t.Interfaces() {
		switch {
		case seen[name]:
			return fmt.Sprintf("the device of an XFRM interface cannot be %q, which is another's", name)
		case name == xfrm.Red || name == xfrm.Black:
			return fmt.Sprintf("the device of an XFRM interface cannot be %q, which is the name of a port", name)
		}
		seen[name] = true
	}
	if len(t.XFRM) > mostInterfaces {
		return fmt.Sprintf("xfrm names %d devices, more than %d", len(t.XFRM), mostInterfaces)
	}
	return ""
}

// Wanted says whether there are to be devices.
func (t Taps) Wanted() bool { return t.Red.Name != "" }

// Noise says whether the board has a noise chip that is to be used.
type Noise struct {
	Use bool `toml:"use"`
}

// Metrics is where Prometheus asks; an empty address is nowhere.
type Metrics struct {
	Listen Listen `toml:"listen"`
	// Names are those by which Prometheus asks, beside IP addresses and localhost.
	Names []string `toml:"names"`
	// SAs is how many SAs have metrics of their own at most.
	SAs int `toml:"sas"`
}

// mostSAs are those of the largest box, both ways.
const mostSAs = 2 << 16

func (m Metrics) check() error {
	if m.SAs < 0 || m.SAs > mostSAs {
		return fmt.Errorf("sas must be 0 to %d, which the largest box holds", mostSAs)
	}
	return nil
}

// Log is the least level that the daemon logs.
type Log struct {
	Level Level `toml:"level"`
}

// Default is what the file need not say. Registers have no default.
func Default() *Config {
	c := &Config{Control: Control{Path: Path{control.DefaultPath}}, Events: Events{Poll: defaultPoll}, Peer: defaultPeer, ICMP: ICMP{PathMTU: true, Age: Age{model.PathAge}}}
	c.Metrics.Listen, c.Metrics.SAs = defaultListen, defaultSAs
	return c
}

// Error is one sentence about the file, with its place.
type Error struct {
	File   string
	Line   int
	Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason) }

// Load reads the file and checks all that can be known before the chips are reached. The commands
// of the initial batch come with it.
func Load(path string) (*Config, []xfrm.Command, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the configuration %s: %w", path, reason(err))
	}
	c := Default()
	if err := decode(text, c); err != nil {
		return nil, nil, located(path, text, err)
	}
	if c.Registers.Place.Socket == "" && c.Registers.PCI == "" {
		return nil, nil, &Error{path, 1, `registers = "…" is missing: it says how the chips are reached, ` + place.Ways}
	}
	if reason := c.wrongTaps(); reason != "" {
		return nil, nil, &Error{path, lineWhere(text, func(part *Config) bool { return part.wrongTaps() == reason }), reason}
	}
	commands, err := c.initial()
	return c, commands, err
}

// SavedPath is the file of the saved configuration.
func (c *Config) SavedPath() string { return cmp.Or(c.Saved.Name, c.Registers.Saved()) }

// CheckSaved names the fault of the saved configuration; a file that is not there has none.
func (c *Config) CheckSaved() error {
	text, err := os.ReadFile(c.SavedPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		_, err = xfrm.ParseConfig(c.SavedPath(), text)
	}
	return err
}

// wrongTaps names the fault of the devices beside each other; empty if they have none.
func (c *Config) wrongTaps() string {
	switch red, black, tunnels := c.Taps.Red.Name, c.Taps.Black.Name, c.Taps.Tunnels.Name; {
	case red == "" && black == "" && tunnels == "" && len(c.Taps.XFRM) == 0:
		return ""
	case red == "" || black == "":
		return "taps needs both red and black: a box has two ports"
	case red == black:
		return fmt.Sprintf("the devices of red and black cannot both be %q", red)
	case tunnels == red || tunnels == black:
		return fmt.Sprintf("the device of tunnels cannot be %q, which is a port's", tunnels)
	}
	return c.Taps.wrongInterfaces()
}

// lineWhere is the first line with which something is true of the file as read so far.
func lineWhere(text []byte, is func(*Config) bool) int {
	end, line := 0, 0
	for part := range bytes.Lines(text) {
		end, line = end+len(part), line+1
		if c := Default(); decode(text[:end], c) == nil && is(c) {
			break
		}
	}
	return line
}

// initial reads the initial batch.
func (c *Config) initial() ([]xfrm.Command, error) {
	if c.Initial.Name == "" {
		return nil, nil
	}
	name := c.Initial.Name
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read the initial batch %s: %w", name, reason(err))
	}
	if info.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("the initial batch %s has mode %04o, but it may hold keys and others may not have it: chmod o= it", name, info.Mode().Perm())
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read the initial batch %s: %w", name, reason(err))
	}
	defer clear(text) // it holds keys
	commands, err := xfrm.ParseBatch(name, text)
	if err != nil {
		return nil, err
	}
	return commands, checkInitial(commands)
}

// checkInitial refuses SAs that are outbound by their own words. Of others the box finds out when
// it loads them.
func checkInitial(commands []xfrm.Command) error {
	for _, command := range commands {
		if c, ok := command.(xfrm.StateAdd); ok && c.State.Dir == xfrm.DirOut {
			xfrm.Wipe(commands)
			return xfrm.Errorf(c.Pos, "the initial batch cannot hold the outbound SA spi 0x%x: each load would begin its sequence numbers again under the same key; leave it to IKE, or load a new key by hand", c.State.SPI)
		}
	}
	return nil
}

// reason is the error of a file, without its name.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

func decode(text []byte, c *Config) error {
	if err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(c); err != nil {
		return err
	}
	if err := c.Peer.check(); err != nil {
		return err
	}
	if err := c.API.check(); err != nil {
		return err
	}
	if err := c.Metrics.check(); err != nil {
		return err
	}
	return c.Web.check()
}

// located gives an error of the TOML library its line.
func located(path string, text []byte, err error) error {
	var strict *toml.StrictMissingError
	var decodeError *toml.DecodeError
	switch {
	case errors.As(err, &strict) && len(strict.Errors) > 0:
		line, _ := strict.Errors[0].Position()
		return &Error{path, line, fmt.Sprintf("there is no key %q", strings.Join(strict.Errors[0].Key(), "."))}
	case errors.As(err, &decodeError):
		line, _ := decodeError.Position()
		return &Error{path, line, strings.TrimPrefix(decodeError.Error(), "toml: ")}
	}
	// The decoder gives no place for a number where text should stand, or for values that do not go
	// together. It is the first line with which the error comes.
	end, line := 0, 0
	for part := range bytes.Lines(text) {
		end, line = end+len(part), line+1
		if again := decode(text[:end], Default()); again != nil && again.Error() == err.Error() {
			break
		}
	}
	return &Error{path, line, err.Error()}
}

// GID is the number of the control socket's group, -1 for the daemon's own.
func (g Group) GID() (int, error) {
	if g.Name == "" {
		return -1, nil
	}
	group, err := user.LookupGroup(g.Name)
	if err != nil {
		return 0, fmt.Errorf("there is no group %q", g.Name)
	}
	return strconv.Atoi(group.Gid)
}
