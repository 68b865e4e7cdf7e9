package s3

import (
	"crypto/md5"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// fake is a service that speaks as much of S3 as a store does, in memory.
type fake struct {
	// befall, if set, may answer a request in the place of the service; lost says that it is done, and not answered.
	befall func(w http.ResponseWriter, r *http.Request) (answered, lost bool)

	least int // bytes of a piece that is not the last

	mu      sync.Mutex
	objects map[string]object
	uploads map[string]*upload
	numbers int
}

type object struct {
	data     []byte
	etag     string
	mark     string
	modified time.Time
}

type upload struct {
	mark   string
	pieces map[int][]byte
}

func newFake() *fake {
	return &fake{least: leastPiece, objects: map[string]object{}, uploads: map[string]*upload{}}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.befall != nil {
		answered, lost := f.befall(w, r)
		if answered {
			return
		}
		if lost {
			f.serve(discarded{http.Header{}}, r)
			line, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				line.Close()
			}
			return
		}
	}
	f.serve(w, r)
}

// discarded takes an answer that is lost.
type discarded struct{ h http.Header }

func (d discarded) Header() http.Header         { return d.h }
func (d discarded) Write(b []byte) (int, error) { return len(b), nil }
func (d discarded) WriteHeader(int)             {}

func fail(w http.ResponseWriter, r *http.Request, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>of the fake</Message></Error>", code)
	}
}

func etagOf(data []byte) string { return fmt.Sprintf(`"%x"`, md5.Sum(data)) }

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	name, q := strings.TrimPrefix(r.URL.Path, "/"), r.URL.Query()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has given up
	}
	if bucket, _, _ := strings.Cut(name, "/"); bucket == "misspelled" {
		fail(w, r, http.StatusNotFound, "NoSuchBucket")
		return
	}
	if !strings.Contains(name, "/") && r.Method == http.MethodHead {
		return
	}
	switch {
	case q.Has("list-type"):
		f.list(w, strings.Trim(name, "/"), q.Get("prefix"))
	case r.Method == http.MethodPost && q.Has("uploads"):
		f.begin(w, name, r.Header.Get("x-amz-meta-"+markKey))
	case r.Method == http.MethodPut && q.Has("partNumber"):
		f.piece(w, r, q.Get("uploadId"), q.Get("partNumber"), body)
	case r.Method == http.MethodPost:
		f.complete(w, r, name, q.Get("uploadId"), body)
	case r.Method == http.MethodDelete && q.Has("uploadId"):
		f.mu.Lock()
		delete(f.uploads, q.Get("uploadId"))
		f.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPut:
		f.mu.Lock()
		defer f.mu.Unlock()
		f.put(w, r, name, object{body, etagOf(body), r.Header.Get("x-amz-meta-" + markKey), time.Now()})
	case r.Method == http.MethodDelete:
		f.mu.Lock()
		delete(f.objects, name)
		f.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	default:
		f.get(w, r, name)
	}
}

// put keeps conditions. Locked.
func (f *fake) put(w http.ResponseWriter, r *http.Request, name string, o object) bool {
	is, there := f.objects[name]
	switch match := r.Header.Get("If-Match"); {
	case match != "" && !there:
		fail(w, r, http.StatusNotFound, "NoSuchKey")
	case match != "" && match != is.etag, r.Header.Get("If-None-Match") == "*" && there:
		fail(w, r, http.StatusPreconditionFailed, "PreconditionFailed")
	default:
		f.objects[name] = o
		w.Header().Set("ETag", o.etag)
		return true
	}
	return false
}

func (f *fake) get(w http.ResponseWriter, r *http.Request, name string) {
	f.mu.Lock()
	o, there := f.objects[name]
	f.mu.Unlock()
	switch match := r.Header.Get("If-Match"); {
	case !there:
		fail(w, r, http.StatusNotFound, "NoSuchKey")
		return
	case match != "" && match != o.etag:
		fail(w, r, http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	w.Header().Set("ETag", o.etag)
	if o.mark != "" {
		w.Header().Set("x-amz-meta-"+markKey, o.mark)
	}
	http.ServeContent(w, r, "", o.modified, strings.NewReader(string(o.data)))
}

func (f *fake) begin(w http.ResponseWriter, name, mark string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.numbers++
	id := strconv.Itoa(f.numbers)
	f.uploads[id] = &upload{mark, map[int][]byte{}}
	fmt.Fprintf(w, "<InitiateMultipartUploadResult><UploadId>%s</UploadId></InitiateMultipartUploadResult>", id)
}

func (f *fake) piece(w http.ResponseWriter, r *http.Request, id, number string, body []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := strconv.Atoi(number)
	u := f.uploads[id]
	if u == nil || err != nil {
		fail(w, r, http.StatusNotFound, "NoSuchUpload")
		return
	}
	u.pieces[n] = body
	w.Header().Set("ETag", etagOf(body))
}

func (f *fake) complete(w http.ResponseWriter, r *http.Request, name, id string, body []byte) {
	var want struct {
		Part []struct {
			PartNumber int
			ETag       string
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	u := f.uploads[id]
	if u == nil || xml.Unmarshal(body, &want) != nil {
		fail(w, r, http.StatusNotFound, "NoSuchUpload")
		return
	}
	var data []byte
	for i, p := range want.Part {
		got := u.pieces[p.PartNumber]
		if p.PartNumber != i+1 || etagOf(got) != p.ETag || i < len(want.Part)-1 && len(got) < f.least {
			fail(w, r, http.StatusBadRequest, "InvalidPart")
			return
		}
		data = append(data, got...)
	}
	etag := fmt.Sprintf(`"%x-%d"`, md5.Sum(data), len(want.Part))
	if f.put(w, r, name, object{data, etag, u.mark, time.Now()}) {
		delete(f.uploads, id)
		fmt.Fprintf(w, "<CompleteMultipartUploadResult><ETag>%s</ETag></CompleteMultipartUploadResult>", xmlText(etag))
	}
}

func xmlText(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}

func (f *fake) list(w http.ResponseWriter, bucket, prefix string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var files, dirs []string
	for name, o := range f.objects {
		key, in := strings.CutPrefix(name, bucket+"/")
		rest, below := strings.CutPrefix(key, prefix)
		if !in || !below {
			continue
		}
		if first, _, deeper := strings.Cut(rest, "/"); deeper {
			dirs = append(dirs, "<CommonPrefixes><Prefix>"+xmlText(prefix+first+"/")+"</Prefix></CommonPrefixes>")
			continue
		}
		files = append(files, fmt.Sprintf("<Contents><Key>%s</Key><Size>%d</Size><ETag>%s</ETag><LastModified>%s</LastModified></Contents>",
			xmlText(key), len(o.data), xmlText(o.etag), o.modified.UTC().Format(time.RFC3339)))
	}
	slices.Sort(dirs)
	all := append(files, slices.Compact(dirs)...)
	fmt.Fprintf(w, "<ListBucketResult>%s</ListBucketResult>", strings.Join(all, ""))
}
