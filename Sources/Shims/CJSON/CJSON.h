// Why this shim: json-c walks an object by a macro over its hash table, which Swift does not see. json-c also frees
// what it read without clearing it, secrets too.
#ifndef IAMPASS_CJSON_H
#define IAMPASS_CJSON_H
#include <json-c/json.h>
#include <json-c/printbuf.h>
#include <stdint.h>
#include <string.h>

/// The first member of an object, or NULL.
static inline struct lh_entry *iampass_json_first(struct json_object *object) {
  return json_object_get_object(object)->head;
}
static inline struct lh_entry *iampass_json_next(struct lh_entry *entry) { return entry->next; }
static inline const char *iampass_json_key(struct lh_entry *entry) { return (const char *)lh_entry_k(entry); }
static inline struct json_object *iampass_json_value(struct lh_entry *entry) {
  return (struct json_object *)lh_entry_v(entry);
}

/// A reader with enough room for the longest string; NULL without memory. A buffer that grows would leave a copy
/// behind.
static inline struct json_tokener *iampass_json_reader(int depth, int greatest_string) {
  struct json_tokener *reader = json_tokener_new_ex(depth);
  if (reader == NULL) return NULL;
  if (printbuf_memset(reader->pb, 0, 0, greatest_string) < 0) return json_tokener_free(reader), NULL;
  printbuf_reset(reader->pb);
  return reader;
}
/// Clears the texts in the reader's values. Does not clear names, or a value that a repeated member replaced.
static inline void iampass_json_clear(struct json_object *object) {
  switch (json_object_get_type(object)) {
  case json_type_string:
    // SAFETY: the object owns its text and shares it with nobody.
    explicit_bzero((char *)(uintptr_t)json_object_get_string(object), (size_t)json_object_get_string_len(object));
    break;
  case json_type_array:
    for (size_t index = 0; index < json_object_array_length(object); index++)
      iampass_json_clear(json_object_array_get_idx(object, index));
    break;
  case json_type_object:
    for (struct lh_entry *entry = iampass_json_first(object); entry != NULL; entry = iampass_json_next(entry))
      iampass_json_clear(iampass_json_value(entry));
    break;
  default: break;
  }
}
/// Frees values that a broken text left half read.
static inline void iampass_json_reader_free(struct json_tokener *reader) {
  for (int level = 0; level <= reader->depth; level++) iampass_json_clear(reader->stack[level].current);
  explicit_bzero(reader->pb->buf, (size_t)reader->pb->size);
  json_tokener_free(reader);
}
static inline void iampass_json_free(struct json_object *object) {
  iampass_json_clear(object);
  json_object_put(object);
}
#endif
