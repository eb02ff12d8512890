package session

// Hold takes the lock of the state file until Release, so that this session alone has the box and need not read the file again for each
// request. It waits for sessions of others to end.
func (s *Session) Hold() error {
	lock, err := lockStore(s.StatePath)
	if err == nil {
		s.held = lock
	}
	return err
}

// Release lets others have the box.
func (s *Session) Release() error {
	lock := s.held
	s.held, s.kept = nil, nil
	return lock.Close()
}

// lock keeps others out until the function that it returns is called.
func (s *Session) lock() (unlock func(), err error) {
	if s.held != nil {
		return func() {}, nil
	}
	lock, err := lockStore(s.StatePath)
	if err != nil {
		return nil, err
	}
	return func() { lock.Close() }, nil
}

// Adopted says whether the chips hold the configuration of the state file: what a session finds that starts while they carry traffic, and what
// is no longer so when one of them was reset, or when a change did not finish.
func (s *Session) Adopted() (bool, error) {
	unlock, err := s.lock()
	if err != nil {
		return false, err
	}
	defer unlock()
	_, same, _, err := s.compare()
	return same, err
}
