package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// ErrClosed says that the store was closed before the write began.
var ErrClosed = errors.New("session is closed")

// Store is a run opened for writing; it is a Reader as well. Its methods may
// be called from any goroutine.
type Store struct {
	view
	Hub
	dir  string
	lock *os.File
	conn *writeConn

	requests chan *request // unbuffered: what waits to be sent is the next group
	quit     chan struct{}
	writer   sync.WaitGroup
	once     sync.Once
	closeErr error

	mu   sync.RWMutex
	rows []Trajectory // as of the last commit, by position; guarded by mu
	seq  int64        // of the last committed event; guarded by mu
}

var _ Reader = (*Store)(nil)

// openStore takes over the lock, also on error.
func openStore(ctx context.Context, dir string, lock *os.File) (_ *Store, err error) {
	s := &Store{dir: dir, lock: lock, requests: make(chan *request), quit: make(chan struct{})}
	defer func() {
		if err != nil {
			err = fmt.Errorf("open run %s: %w", filepath.Base(dir), explain(err))
			err = errors.Join(err, s.release())
		}
	}()
	path := filepath.Join(dir, dbName)
	if s.db, err = openDB(path, shared, 4, "query_only(1)"); err != nil {
		return nil, err
	}
	if err = checkVersion(ctx, s.db); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if s.run, err = loadRun(ctx, s.db); err != nil {
		return nil, err
	}
	if s.conn, err = openWriteConn(ctx, path, s.run.ID); err != nil {
		return nil, err
	}
	if s.rows, s.seq, err = s.conn.load(ctx); err != nil {
		return nil, err
	}
	s.writer.Go(s.write)
	return s, nil
}

// Dir is the run's folder.
func (s *Store) Dir() string { return s.dir }

// Trajectories in queue order, and the Seq they reflect.
func (s *Store) Trajectories(context.Context) ([]Trajectory, int64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.rows), s.seq, nil
}

// Close ends the writer after the writes it has taken, folds the WAL into the
// file and frees the lock. Writes that come later get ErrClosed.
func (s *Store) Close() error {
	s.once.Do(func() {
		close(s.quit)
		s.writer.Wait()
		s.closeErr = s.release()
	})
	return s.closeErr
}

func (s *Store) release() error {
	var errs []error
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	if s.conn != nil {
		errs = append(errs, s.conn.close())
	}
	errs = append(errs, s.lock.Close())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close run %s: %s: %w", filepath.Base(s.dir), s.dir, explain(err))
	}
	return nil
}

// request is one Commit or PutGauge on its way to the writer.
type request struct {
	ctx   context.Context
	write Write
	turn  turnRow // of write.Turn
	chunk []byte  // of write.Chunk, packed
	gauge []byte
	point []byte     // of the series, with gauge; nil: none
	done  chan error // capacity one
}

// Commit stores the write and returns when it is durable and visible. The
// events of w get their Seq. Readers are woken, but find what is new by Seq: a
// turn should come with an event. An error means that nothing of w was stored; a ctx
// that ends while w waits for its turn gives ctx's error.
func (s *Store) Commit(ctx context.Context, w Write) error {
	r := &request{ctx: ctx, write: w}
	if err := checkWrite(&w); err != nil {
		return fmt.Errorf("write run %s: %w", s.run.ID, err)
	}
	if w.Turn != nil {
		var err error
		if r.turn, err = encodeTurn(w.Turn); err != nil {
			return fmt.Errorf("write run %s: %w", s.run.ID, err)
		}
	}
	if w.Chunk != nil {
		r.chunk = packChunk(w.Chunk.Data)
	}
	return s.send(r)
}

// PutGauge persists the engine's snapshot for other processes, and a point of
// the run's time series (nil: none). Of a long series every second point is
// given up again and again, so that it stays below 2·seriesPoints.
func (s *Store) PutGauge(ctx context.Context, snapshot, point json.RawMessage) error {
	if !json.Valid(snapshot) || point != nil && !json.Valid(point) {
		return fmt.Errorf("write run %s: gauges are not JSON", s.run.ID)
	}
	return s.send(&request{ctx: ctx, gauge: snapshot, point: point})
}

// send waits for the writer to take the request. Once taken it is stored or
// refused as a whole within the database's time limit, so ctx is not asked again.
func (s *Store) send(r *request) error {
	r.done = make(chan error, 1)
	if err := r.ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.quit:
		return fmt.Errorf("write run %s: %w", s.run.ID, ErrClosed)
	case <-r.ctx.Done():
		return r.ctx.Err()
	case s.requests <- r:
	}
	if err := <-r.done; err != nil {
		return fmt.Errorf("write run %s: %w", s.run.ID, err)
	}
	return nil
}

// maxGroup bounds the writes of one transaction, and with it the wait of each.
const maxGroup = 256

// write is the writer: it takes all that waits into one transaction, so many
// trajectories share one write to disk.
func (s *Store) write() {
	for {
		select {
		case <-s.quit:
			return
		case r := <-s.requests:
			s.commit(s.gather([]*request{r}))
		}
	}
}

func (s *Store) gather(group []*request) []*request {
	for len(group) < maxGroup {
		select {
		case r := <-s.requests:
			group = append(group, r)
		default:
			return group
		}
	}
	return group
}

// commit stores the group. A write that is refused fails alone; an error of
// the database undoes the transaction and every write of it gets the error.
func (s *Store) commit(group []*request) {
	// Only this goroutine changes rows and seq, so it reads them without mu.
	tx := &transaction{conn: s.conn, rows: s.rows, changed: map[int]Trajectory{}, added: map[Key]int{}, seq: s.seq}
	accepted, err := tx.run(group)
	if err != nil {
		for _, r := range accepted {
			r.done <- fmt.Errorf("%s: %w", s.dir, explain(err))
		}
		return
	}
	s.mu.Lock()
	s.seq = tx.seq
	s.rows = append(s.rows, make([]Trajectory, len(tx.added))...)
	for tr, t := range tx.changed {
		s.rows[tr] = t
	}
	s.mu.Unlock()
	for _, r := range accepted {
		r.done <- nil
	}
	if len(accepted) > 0 {
		s.Notify()
	}
}

func checkWrite(w *Write) error {
	if t := w.Turn; t != nil {
		if t.Attempt < 1 || t.Index < 1 || t.Version < 1 {
			return fmt.Errorf("turn of %s needs attempt, index and version from 1 on, has %d, %d, %d", t.Key, t.Attempt, t.Index, t.Version)
		}
		if w.Supersede == t.Version {
			return fmt.Errorf("turn %d of %s cannot supersede itself (version %d)", t.Index, t.Key, t.Version)
		}
	} else if w.Supersede != 0 {
		return errors.New("a version is superseded without the turn that takes its place")
	}
	if (w.Patch != nil || w.EvalLog != nil) && w.Attempt < 1 {
		return fmt.Errorf("patch or eval log of %s without its attempt", w.Key)
	}
	if w.Chunk != nil {
		return w.Chunk.check()
	}
	return nil
}
