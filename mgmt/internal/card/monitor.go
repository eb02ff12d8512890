// SPDX-License-Identifier: Apache-2.0

package card

import (
	"errors"
	"math"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// Monitor is what the FPGA's system monitor has measured last (SYSMONE4).
type Monitor struct {
	Temperature float64 `json:"temperature_c"` // of the die, in degrees Celsius
	VCCINT      float64 `json:"vccint_v"`
	VCCAUX      float64 `json:"vccaux_v"`
}

// Addresses of the monitor's status registers (UG580, register interface).
const (
	monitorTemperature = 0x00
	monitorVCCINT      = 0x01
	monitorVCCAUX      = 0x02
)

// A status register is a fraction of full scale over 2^16; its upper 10 bits are good. UG580
// (analog-to-digital converter, temperature and supply sensors) gives these transfer functions of
// SYSMONE4 with its internal reference. With a card's external reference they would differ by less
// than 0.5 degrees below 100.
const (
	fullScale    = 1 << 16
	degrees      = 509.3140064
	degreesBelow = 280.23087870
	volts        = 3.0
)

func temperature(code uint32) float64 {
	return rounded(float64(code)/fullScale*degrees-degreesBelow, 10)
}
func supply(code uint32) float64 { return rounded(float64(code)/fullScale*volts, 1000) }

// rounded has no digits that were not measured: a step of 10 bits is half a degree, or 3 mV.
func rounded(value, steps float64) float64 { return math.Round(value*steps) / steps }

// ReadMonitor is nil if the monitor does not answer. It takes three accesses of the port of dynamic
// reconfiguration, each with a command.
func ReadMonitor(t transport.Transport, c transport.Chip) (*Monitor, error) {
	var codes [3]uint32
	for i, address := range []uint32{monitorTemperature, monitorVCCINT, monitorVCCAUX} {
		code, err := ReadDRP(t, c, regs.DrpTargetMonitor, address)
		if errors.Is(err, ErrSilentDRP) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		codes[i] = uint32(code)
	}
	return &Monitor{temperature(codes[0]), supply(codes[1]), supply(codes[2])}, nil
}
