// Why this shim: json-c walks an object by a macro over its hash table, which Swift does not see.
#ifndef IAMPASS_CJSON_H
#define IAMPASS_CJSON_H
#include <json-c/json.h>

/// The first member of an object, or NULL.
static inline struct lh_entry *iampass_json_first(struct json_object *object) {
  return json_object_get_object(object)->head;
}
static inline struct lh_entry *iampass_json_next(struct lh_entry *entry) { return entry->next; }
static inline const char *iampass_json_key(struct lh_entry *entry) { return (const char *)lh_entry_k(entry); }
static inline struct json_object *iampass_json_value(struct lh_entry *entry) {
  return (struct json_object *)lh_entry_v(entry);
}
#endif
