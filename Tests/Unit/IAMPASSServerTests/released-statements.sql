DELETE FROM answer WHERE answered_at < $1
DELETE FROM app_token WHERE phone = $1
DELETE FROM app_token WHERE phone = $1 AND token = $2 AND told_at = $3
DELETE FROM app_user WHERE id = $1
DELETE FROM application WHERE id = $1
DELETE FROM audit WHERE noted_at < $1
DELETE FROM committed_write WHERE written_at < $1
DELETE FROM console_link WHERE code_hash = $1
DELETE FROM console_link WHERE expires_at <= $1
DELETE FROM console_session WHERE expires_at <= $1 OR used_at <= $2
DELETE FROM console_session WHERE key_hash = $1
DELETE FROM host_boot WHERE credential = $1 AND number NOT IN (SELECT number FROM host_boot WHERE credential = $1 ORDER BY number DESC LIMIT $2)
DELETE FROM link WHERE expires_at < $1
DELETE FROM link WHERE user_id = $1 AND used_at IS NULL
DELETE FROM link WHERE user_id = $1 AND used_at IS NULL AND replaces_phone <> 0
DELETE FROM notification_service WHERE application = $1 AND service = $2 RETURNING service
DELETE FROM push_subscription WHERE phone = $1
DELETE FROM push_subscription WHERE phone = $1 AND endpoint = $2
DELETE FROM service_fact WHERE name = 'public address'
DELETE FROM session WHERE ended_at < $1
DELETE FROM signing_key WHERE id = $1
DELETE FROM source_block WHERE until <= $1
DELETE FROM spent_nonce WHERE spent_at < $1 AND forget_at < $2
INSERT INTO answer (session, phone, public_key, statement, signature, context, assertion, credential_key, answered_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
INSERT INTO app_token (phone, service, token, told_at) VALUES ($1, $2, $3, $4)
INSERT INTO app_user (id, application, name) SELECT id + 1, $1, $2 FROM greatest_user ON CONFLICT (application, name) DO NOTHING RETURNING id
INSERT INTO application (id, name, secret, created_at, match_code) VALUES ($1, $2, $3, $4, $5)
INSERT INTO audit (at, event, application) VALUES ($1, 'application taken back', $2)
INSERT INTO committed_write (id, written_at) VALUES ($1, $2)
INSERT INTO committed_write (id, written_at) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING id
INSERT INTO console_link (code_hash, expires_at) VALUES ($1, $2)
INSERT INTO console_session (key_hash, form_token, expires_at, used_at, address) VALUES ($1, $2, $3, $4, $5)
INSERT INTO face (phone, is_offered, changed_at) VALUES ($1, $2, $3) ON CONFLICT (phone) DO UPDATE SET is_offered = excluded.is_offered, changed_at = excluded.changed_at WHERE face.is_offered <> excluded.is_offered
INSERT INTO forgotten_nonces (first, last) VALUES ($1, $2)
INSERT INTO host_boot (credential, boot_id, signed_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING number
INSERT INTO host_credential (id, application, name, host, secret, created_at, is_openid) VALUES ($1, $2, $3, $4, $5, $6, $7)
INSERT INTO link (code_hash, user_id, display_name, replaces_phone, expires_at) VALUES ($1, $2, $3, $4, $5)
INSERT INTO notification_service (application, service, told, details, secret, set_at) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (application, service) DO UPDATE SET told = excluded.told, details = excluded.details, secret = excluded.secret, set_at = excluded.set_at
INSERT INTO phone (id, user_id, public_key, display_name, presence, registered_at, pin_mac) VALUES ($1, $2, $3, $4, $5, $6, $7)
INSERT INTO phone_credential (phone, credential, public_key, counter, added_at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (phone) DO UPDATE SET credential = EXCLUDED.credential, public_key = EXCLUDED.public_key, counter = EXCLUDED.counter, added_at = EXCLUDED.added_at
INSERT INTO push_key (id, private_key) VALUES (1, $1) ON CONFLICT DO NOTHING
INSERT INTO push_subscription (phone, endpoint, p256dh, auth) VALUES ($1, $2, $3, $4)
INSERT INTO schema_migration (name, least) VALUES ($1, $2)
INSERT INTO service_clock (id, boot_id, since_boot, time, unix_time, is_settled) VALUES (1, $1, $2, $3, $4, $5) ON CONFLICT (id) DO UPDATE SET boot_id = EXCLUDED.boot_id, since_boot = EXCLUDED.since_boot, time = EXCLUDED.time, unix_time = EXCLUDED.unix_time, is_settled = EXCLUDED.is_settled
INSERT INTO service_fact (name, value) VALUES ('address', $1) ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value
INSERT INTO service_fact (name, value) VALUES ('public address', $1)
INSERT INTO session (id, token, secret, application, user_id, source, context, answer_nonce, status, started_at, duration, delivered, delivered_at, credential, reply_secret, address, answer_time, match_code, method, boot_id, challenge, id_token_nonce) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)
INSERT INTO signing_key (id, private_key, made_at) VALUES ($1, $2, $3)
INSERT INTO source_block (user_id, source, until) VALUES ($1, $2, $3) ON CONFLICT (user_id, source) DO UPDATE SET until = EXCLUDED.until
INSERT INTO training (phone, method, asked_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING
LOCK TABLE forgotten_nonces IN SHARE ROW EXCLUSIVE MODE
LOCK TABLE write_turn IN EXCLUSIVE MODE
SELECT (SELECT count(*) FROM application) AS applications, (SELECT count(*) FROM app_user) AS users, (SELECT count(*) FROM phone WHERE cut_off_at IS NULL) AS phones, (SELECT count(*) FROM host_credential WHERE revoked_at IS NULL AND is_openid = 0) AS host_credentials, (SELECT count(*) FROM session WHERE ended_at IS NULL AND approved_at IS NULL) AS unanswered, (SELECT count(*) FROM session WHERE ended_at IS NULL AND approved_at IS NOT NULL) AS live, pg_database_size(current_database()) AS bytes
SELECT * FROM answer WHERE number > $1 ORDER BY number LIMIT $2
SELECT * FROM app_user WHERE application = $1 AND name = $2
SELECT * FROM app_user WHERE id = $1 AND application = $2
SELECT * FROM application WHERE id = $1
SELECT * FROM application WHERE name = $1
SELECT * FROM audit WHERE id < $1 ORDER BY id DESC LIMIT $2
SELECT * FROM audit WHERE id > $1 ORDER BY id LIMIT $2
SELECT * FROM host_credential WHERE application = $1 AND name = $2 AND revoked_at IS NULL
SELECT * FROM host_credential WHERE application = $1 ORDER BY revoked_at IS NOT NULL, name, created_at
SELECT * FROM host_credential WHERE id = $1
SELECT * FROM link WHERE code_hash = $1
SELECT * FROM phone WHERE id = $1
SELECT * FROM phone WHERE user_id = $1 AND cut_off_at IS NULL
SELECT * FROM phone_credential WHERE phone = $1
SELECT * FROM push_subscription WHERE phone = $1
SELECT * FROM service_clock
SELECT * FROM session WHERE application = $1 AND ended_at IS NULL AND approved_at IS NULL
SELECT * FROM session WHERE credential = $1 AND ended_at IS NULL AND boot_id <> $2
SELECT * FROM session WHERE ended_at IS NULL
SELECT * FROM session WHERE ended_at IS NULL AND credential = $1
SELECT * FROM session WHERE ended_at IS NULL AND credential IS NULL AND application = $1
SELECT * FROM session WHERE id = $1
SELECT * FROM session WHERE user_id = $1 AND ended_at IS NULL ORDER BY started_at, number
SELECT * FROM signing_key ORDER BY made_at DESC, number DESC LIMIT $1
SELECT 1 FROM application WHERE name = $1
SELECT 1 FROM console_link WHERE code_hash = $1 AND expires_at > $2
SELECT 1 FROM phone WHERE id = $1 AND is_silent <> 0 AND presence = $2
SELECT 1 FROM push_subscription WHERE phone = $1
SELECT 1 FROM source_block WHERE user_id = $1 AND source = $2 AND until > $3
SELECT DISTINCT forget_at FROM spent_nonce WHERE spent_at < $1 AND forget_at < $2 ORDER BY forget_at
SELECT app_token.service, token, told_at, details, secret FROM app_token JOIN app_user ON app_user.id = $1 JOIN notification_service ON notification_service.application = app_user.application AND notification_service.service = app_token.service WHERE phone = $2
SELECT app_user.*, phone.display_name, phone.registered_at, phone.presence, phone.looked_at FROM app_user LEFT JOIN phone ON phone.user_id = app_user.id AND phone.cut_off_at IS NULL WHERE app_user.application = $1 AND app_user.id > $2 ORDER BY app_user.id LIMIT $3
SELECT app_user.*, phone.display_name, phone.registered_at, phone.presence, phone.looked_at FROM app_user LEFT JOIN phone ON phone.user_id = app_user.id AND phone.cut_off_at IS NULL WHERE app_user.id = $1 AND app_user.application = $2
SELECT application FROM app_user WHERE id = $1
SELECT application.*, (SELECT count(*) FROM app_user WHERE app_user.application = application.id) AS users, (SELECT count(*) FROM session WHERE session.application = application.id) AS all_sessions, (SELECT count(*) FROM session WHERE session.application = application.id AND ended_at IS NULL AND approved_at IS NOT NULL) AS live_sessions FROM application WHERE $1::text IS NULL OR id = $1::text ORDER BY name
SELECT application.name FROM application JOIN app_user ON app_user.application = application.id WHERE app_user.id = $1
SELECT boot_id, signed_at FROM host_boot WHERE credential = $1 ORDER BY number DESC LIMIT 1
SELECT counter FROM service_mark
SELECT display_name FROM link WHERE user_id = $1 ORDER BY number DESC LIMIT 1
SELECT display_name FROM phone WHERE user_id = $1 ORDER BY number DESC LIMIT 1
SELECT epoch, counter FROM service_mark
SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS time
SELECT form_token, used_at FROM console_session WHERE key_hash = $1 AND expires_at > $2 AND used_at > $3
SELECT id FROM application LIMIT 1
SELECT id FROM application WHERE silence_leaves <> 0 AND walkaway <> 0
SELECT id FROM signing_key
SELECT match_code, source, context, approved_at, ending FROM session WHERE user_id = $1 AND match_code IS NOT NULL AND ended_at > $2 ORDER BY ended_at, number
SELECT method FROM training WHERE phone = $1
SELECT name FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name
SELECT name, least FROM schema_migration
SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), $1))::text
SELECT pg_try_advisory_lock(hashtextextended('iampass_house_' || current_schema(), 0))::int::int8 AS taken
SELECT phone FROM face WHERE phone = $1 AND is_offered <> 0
SELECT phone, statement, signature, assertion FROM answer WHERE session = $1
SELECT phone.* FROM phone JOIN app_user ON app_user.id = phone.user_id JOIN application ON application.id = app_user.application WHERE phone.cut_off_at IS NULL AND application.silence_leaves <> 0 AND application.walkaway <> 0 AND phone.heard_at < $1 AND phone.is_silent = 0
SELECT phone.id FROM phone JOIN app_user ON app_user.id = phone.user_id JOIN application ON application.id = app_user.application WHERE phone.id = $1 AND phone.has_page = 0 AND application.face <> 0
SELECT phone.is_silent FROM phone JOIN app_user ON app_user.id = phone.user_id JOIN application ON application.id = app_user.application WHERE phone.cut_off_at IS NULL AND phone.id = $1 AND (phone.is_silent <> 0 OR application.silence_leaves <> 0 AND application.walkaway <> 0 AND ($2 <> 0 OR phone.heard_at IS NOT NULL))
SELECT private_key FROM push_key
SELECT service, told, set_at FROM notification_service WHERE application = $1 ORDER BY service
SELECT session.*, application.name AS application_name, phone.display_name FROM session JOIN application ON application.id = session.application LEFT JOIN phone ON phone.user_id = session.user_id AND phone.cut_off_at IS NULL WHERE session.ended_at IS NULL AND session.approved_at IS NOT NULL AND ($1::bigint IS NULL OR session.user_id = $1::bigint) ORDER BY session.approved_at DESC LIMIT $2
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'
SELECT source, credential, context, ended_at FROM session WHERE user_id = $1 AND ending IN ('DENIED', 'NOT_ME', 'WRONG_CODE') AND ended_at > $2 ORDER BY ended_at DESC
SELECT spend_nonce($1, $2, $3, $4, $5, $6) AS spent
SELECT spent_at FROM spent_nonce ORDER BY spent_at DESC LIMIT 1 OFFSET $1
SELECT to_regclass('schema_migration')::text AS name
SELECT value FROM service_fact WHERE name = 'address'
SELECT value FROM service_fact WHERE name = 'public address'
UPDATE application SET disabled_at = $1 WHERE id = $2
UPDATE application SET match_code = coalesce($1, match_code), face = coalesce($2, face) WHERE name = $3 RETURNING id
UPDATE application SET secret = $1 WHERE id = $2
UPDATE application SET walkaway = $1, silence_leaves = $2, match_code = $3, answer_time = $4, greatest_duration = $5, hook = $6, face = $7 WHERE id = $8
UPDATE console_session SET used_at = $1 WHERE key_hash = $2
UPDATE forgotten_nonces SET first = least(first, $1), last = greatest(last, $2) WHERE number = (SELECT number FROM forgotten_nonces WHERE $1 <= last + $3 AND $2 >= first - $3 LIMIT 1) RETURNING number
UPDATE host_boot SET signed_at = greatest(signed_at, $1) WHERE credential = $2 AND boot_id = $3
UPDATE host_credential SET last_used_at = $1 WHERE id = $2 AND coalesce(last_used_at, 0) <= $3
UPDATE host_credential SET name = $1 WHERE id = $2
UPDATE host_credential SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL
UPDATE link SET used_at = $1 WHERE code_hash = $2
UPDATE phone SET cut_off_at = $1 WHERE user_id = $2 AND cut_off_at IS NULL
UPDATE phone SET has_page = 1 WHERE id = $1
UPDATE phone SET heard_at = $1, is_silent = 0 WHERE id = $2
UPDATE phone SET heard_at = least($1, heard_at + $2) WHERE heard_at IS NOT NULL AND cut_off_at IS NULL AND user_id IN (SELECT id FROM app_user WHERE application = $3)
UPDATE phone SET is_silent = 1 WHERE id = $1
UPDATE phone SET looked_at = greatest(coalesce(looked_at, 0), $1) WHERE id = $2
UPDATE phone SET pin_mac = $1 WHERE id = $2
UPDATE phone SET presence = $1 WHERE id = $2
UPDATE phone_credential SET counter = $1 WHERE phone = $2
UPDATE session SET held_back = held_back + 1 WHERE id = $1
UPDATE session SET status = $1, ending = $2, approved_at = $3, collected_at = $4, ended_at = $5, delivered = $6, delivered_at = $7 WHERE id = $8
