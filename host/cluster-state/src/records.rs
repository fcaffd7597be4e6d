//! Records with versions, such as those that plugins keep. Records of one owner have a common limit of their size.
//!
//! The records of one owner are one hash of the server. Its fields are the digests of keys; each value is the version
//! as 16 hexadecimal digits, and the sealed record. One more field holds the size of all values together.

use std::collections::HashMap;
use std::sync::OnceLock;

use redis::aio::MultiplexedConnection;
use redis::{RedisError, RedisResult, Script};

use portcullis_checked_files::digest;

use crate::error::StateError;
use crate::values::key_of;
use crate::{ClusterState, PREFIX};

/// The kind of the values.
const KIND: &str = "store";

/// The field with the size of all values. Digests are longer, so no record has this field.
const SIZE_FIELD: &str = "bytes";

/// The number of hexadecimal digits of a version.
const VERSION_DIGITS: usize = 16;

/// Maximum number of attempts to write a record that other hosts write at the same time.
const MAX_ATTEMPTS: usize = 16;

/// The bytes of a value beside the key and the value of its record: the version, the seal, and the length of the key.
const OVERHEAD: usize = VERSION_DIGITS + 1 + 4 + 24 + 16 + 4;

/// Writes a value if the version is the expected one and the size stays within the limit. Returns 1, or 0 for another
/// version, or -1 for a size over the limit.
const WRITE: &str = r"
local old = redis.call('HGET', KEYS[1], ARGV[1])
local version, size = '0000000000000000', 0
if old then version, size = string.sub(old, 1, 16), #old end
if version ~= ARGV[2] then return 0 end
local all = tonumber(redis.call('HGET', KEYS[1], 'bytes') or '0') - size + #ARGV[3]
if all > tonumber(ARGV[4]) then return -1 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3], 'bytes', string.format('%.0f', all))
return 1
";

/// Removes a value.
const REMOVE: &str = r"
local old = redis.call('HGET', KEYS[1], ARGV[1])
if not old then return 0 end
local all = tonumber(redis.call('HGET', KEYS[1], 'bytes') or '0') - #old
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HSET', KEYS[1], 'bytes', string.format('%.0f', math.max(0, all)))
return 1
";

/// Replaces a value by one of the same version, if it is still the expected one.
const RESEAL: &str = r"
local old = redis.call('HGET', KEYS[1], ARGV[1])
if old ~= ARGV[2] then return 0 end
local all = tonumber(redis.call('HGET', KEYS[1], 'bytes') or '0') - #old + #ARGV[3]
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3], 'bytes', string.format('%.0f', math.max(0, all)))
return 1
";

/// The records of one owner.
#[derive(Clone)]
pub struct ClusterRecords {
    state: ClusterState,
    owner: String,
}

/// A record.
#[derive(Debug, PartialEq, Eq)]
pub struct ClusterRecord {
    /// The value.
    pub value: Vec<u8>,
    /// The version: 1 for a new record. It grows with each write of the key.
    pub version: u64,
}

/// Why a record was not written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The record has another version than the expected one.
    #[error("another version of the record was written meanwhile")]
    Conflict,
    /// The records would be larger than allowed.
    #[error("the records would be larger than allowed")]
    Full,
    /// The cluster's state cannot be used. Only after [`StateError::Away`] may the record have been written.
    #[error(transparent)]
    State(#[from] StateError),
}

/// A record that is ready to be written. Dropping this value writes nothing.
pub struct PreparedRecord {
    records: ClusterRecords,
    key: String,
    value: Vec<u8>,
    /// The version before the write.
    before: u64,
    /// Whether the version before the write is one that the caller expects.
    is_expected: bool,
    bytes_in_all: u64,
}

impl PreparedRecord {
    /// The size of all records of the owner in bytes, once this record is written.
    pub fn bytes_in_all(&self) -> u64 {
        self.bytes_in_all
    }

    /// Writes the record and returns its new version. `limit`: the maximum size of all records of the owner, in bytes.
    ///
    /// # Errors
    ///
    /// [`RecordError`].
    pub async fn commit(mut self, limit: u64) -> Result<u64, RecordError> {
        for _ in 0..MAX_ATTEMPTS {
            let version = self.before.saturating_add(1);
            match self.records.write(&self.key, &self.value, self.before, limit).await? {
                1 => return Ok(version),
                0 if self.is_expected => return Err(RecordError::Conflict),
                0 => self.before = self.records.version_and_sizes(&self.key).await?.0,
                _ => return Err(RecordError::Full),
            }
        }
        Err(RecordError::Conflict)
    }
}

impl ClusterState {
    /// The records of an owner, such as a plugin.
    pub fn records_of(&self, owner: &str) -> ClusterRecords {
        ClusterRecords { state: self.clone(), owner: owner.to_owned() }
    }

    /// Seals all records with the first key that were sealed with another one, so that the other one can be removed
    /// from all hosts. Returns the number of these records, and the number of records that no key opens.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub async fn seal_records_again(&self) -> Result<(usize, usize), StateError> {
        if self.0.seal.count() < 2 {
            return Ok((0, 0));
        }
        let (mut sealed, mut foreign) = (0, 0);
        for owner in self.owners().await? {
            let records = self.records_of(&owner);
            for (field, value) in records.fields().await? {
                let Some((version, body)) = parts(&value) else { continue };
                if self.0.seal.is_newest(body) {
                    continue;
                }
                match records.open(&field, version, body) {
                    Ok(bytes) => {
                        sealed += records.seal_again(&field, version, value, &bytes).await?
                    }
                    Err(_) => foreign += 1,
                }
            }
        }
        Ok((sealed, foreign))
    }

    /// The owners of all records.
    async fn owners(&self) -> Result<Vec<String>, StateError> {
        let prefix = format!("{PREFIX}:{KIND}:");
        let pattern = format!("{prefix}*");
        let scan = move |mut connection: MultiplexedConnection| async move {
            let (mut cursor, mut keys) = (0_u64, Vec::new());
            loop {
                let (next, some): (u64, Vec<String>) = redis::cmd("SCAN")
                    .arg(cursor)
                    .arg("MATCH")
                    .arg(&pattern)
                    .arg("COUNT")
                    .arg(1000)
                    .query_async(&mut connection)
                    .await?;
                keys.extend(some);
                if next == 0 {
                    return Ok::<_, RedisError>(keys);
                }
                cursor = next;
            }
        };
        let mut keys = self.0.connection.run(scan).await?;
        keys.sort_unstable();
        keys.dedup();
        Ok(keys.iter().filter_map(|key| key.strip_prefix(&prefix)).map(str::to_owned).collect())
    }
}

impl ClusterRecords {
    /// The record of a key. `None`: there is none.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub async fn read(&self, key: &str) -> Result<Option<ClusterRecord>, StateError> {
        let field = digest(key.as_bytes());
        let mut get = redis::cmd("HGET");
        get.arg(self.hash()).arg(&field);
        let found: Option<Vec<u8>> = self.state.0.connection.repeat(get).await?;
        let Some(found) = found else { return Ok(None) };
        let (version, body) = parts(&found).ok_or(StateError::Foreign { what: "a record" })?;
        let opened = self.open(&field, version, body)?;
        let (stored, value) = split(&opened).ok_or(StateError::Foreign { what: "a record" })?;
        if stored != key.as_bytes() {
            return Err(StateError::Foreign { what: "a record" });
        }
        Ok(Some(ClusterRecord { value: value.to_vec(), version }))
    }

    /// Prepares to write a record. `expect` is the version that the record must have now, or 0 if there must be none;
    /// `None`: any version.
    ///
    /// # Errors
    ///
    /// [`RecordError`].
    pub async fn prepare(
        &self,
        key: &str,
        value: Vec<u8>,
        expect: Option<u64>,
    ) -> Result<PreparedRecord, RecordError> {
        let (before, size, all) = self.version_and_sizes(key).await?;
        if expect.is_some_and(|expected| expected != before) {
            return Err(RecordError::Conflict);
        }
        let own = (OVERHEAD + key.len() + value.len()) as u64;
        Ok(PreparedRecord {
            records: self.clone(),
            key: key.to_owned(),
            value,
            before,
            is_expected: expect.is_some(),
            bytes_in_all: all.saturating_sub(size) + own,
        })
    }

    /// Removes a record, if there is one.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub async fn remove(&self, key: &str) -> Result<(), StateError> {
        static SCRIPT: OnceLock<Script> = OnceLock::new();
        let (hash, field) = (self.hash(), digest(key.as_bytes()));
        let remove = move |mut connection: MultiplexedConnection| async move {
            let script = SCRIPT.get_or_init(|| Script::new(REMOVE));
            script.key(hash).arg(field).invoke_async::<i64>(&mut connection).await
        };
        self.state.0.connection.run(remove).await.map(drop)
    }

    /// All keys, in no particular order.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub async fn keys(&self) -> Result<Vec<String>, StateError> {
        let foreign = || StateError::Foreign { what: "a record" };
        let mut keys = Vec::new();
        for (field, value) in self.fields().await? {
            let (version, body) = parts(&value).ok_or_else(foreign)?;
            let opened = self.open(&field, version, body)?;
            let (key, _) = split(&opened).ok_or_else(foreign)?;
            keys.push(String::from_utf8(key.to_vec()).map_err(|_| foreign())?);
        }
        Ok(keys)
    }

    /// The fields of all records.
    async fn fields(&self) -> Result<HashMap<String, Vec<u8>>, StateError> {
        let mut get = redis::cmd("HGETALL");
        get.arg(self.hash());
        let mut fields: HashMap<String, Vec<u8>> = self.state.0.connection.repeat(get).await?;
        fields.remove(SIZE_FIELD);
        Ok(fields)
    }

    /// The version of a record, its size, and the size of all records. The version 0 is that of no record.
    async fn version_and_sizes(&self, key: &str) -> Result<(u64, u64, u64), StateError> {
        let mut get = redis::cmd("HMGET");
        get.arg(self.hash()).arg(digest(key.as_bytes())).arg(SIZE_FIELD);
        let (found, all): (Option<Vec<u8>>, Option<u64>) =
            self.state.0.connection.repeat(get).await?;
        let all = all.unwrap_or(0);
        let Some(found) = found else { return Ok((0, 0, all)) };
        let (version, _) = parts(&found).ok_or(StateError::Foreign { what: "a record" })?;
        Ok((version, found.len() as u64, all))
    }

    /// Writes a value over the version `before`. Returns the number of [`WRITE`].
    async fn write(
        &self,
        key: &str,
        value: &[u8],
        before: u64,
        limit: u64,
    ) -> Result<i64, StateError> {
        static SCRIPT: OnceLock<Script> = OnceLock::new();
        let (hash, field) = (self.hash(), digest(key.as_bytes()));
        let mut opened = Vec::with_capacity(4 + key.len() + value.len());
        opened.extend(u32::try_from(key.len()).unwrap_or(u32::MAX).to_be_bytes());
        opened.extend(key.as_bytes());
        opened.extend(value);
        let sealed = self.sealed(&field, before.saturating_add(1), &opened)?;
        let write = move |mut connection: MultiplexedConnection| async move {
            let script = SCRIPT.get_or_init(|| Script::new(WRITE));
            let mut call = script.key(hash);
            call.arg(field).arg(format!("{before:016x}")).arg(sealed).arg(limit);
            call.invoke_async::<i64>(&mut connection).await
        };
        self.state.0.connection.run(write).await
    }

    /// Seals a value with the first key, unless it was changed meanwhile. Returns the number of sealed values.
    async fn seal_again(
        &self,
        field: &str,
        version: u64,
        before: Vec<u8>,
        opened: &[u8],
    ) -> Result<usize, StateError> {
        static SCRIPT: OnceLock<Script> = OnceLock::new();
        let sealed = self.sealed(field, version, opened)?;
        let (hash, field) = (self.hash(), field.to_owned());
        let replace = move |mut connection: MultiplexedConnection| async move {
            let script = SCRIPT.get_or_init(|| Script::new(RESEAL));
            let mut call = script.key(hash);
            let replaced: RedisResult<usize> =
                call.arg(field).arg(before).arg(sealed).invoke_async(&mut connection).await;
            replaced
        };
        self.state.0.connection.run(replace).await
    }

    /// The value of a field: the version, and the sealed record.
    fn sealed(&self, field: &str, version: u64, opened: &[u8]) -> Result<Vec<u8>, StateError> {
        let version_text = format!("{version:016x}");
        let place =
            [KIND.as_bytes(), self.owner.as_bytes(), field.as_bytes(), version_text.as_bytes()];
        let mut value = version_text.clone().into_bytes();
        value.extend(self.state.0.seal.seal(&place, opened)?);
        Ok(value)
    }

    /// Opens the sealed record of a field.
    fn open(&self, field: &str, version: u64, body: &[u8]) -> Result<Vec<u8>, StateError> {
        let version = format!("{version:016x}");
        let place = [KIND.as_bytes(), self.owner.as_bytes(), field.as_bytes(), version.as_bytes()];
        self.state.0.seal.open(&place, body, "a record")
    }

    /// The server's key of the hash.
    fn hash(&self) -> String {
        key_of(KIND, &self.owner)
    }
}

/// The version and the sealed record in the value of a field.
fn parts(value: &[u8]) -> Option<(u64, &[u8])> {
    let (version, body) = value.split_at_checked(VERSION_DIGITS)?;
    let version = u64::from_str_radix(str::from_utf8(version).ok()?, 16).ok()?;
    Some((version, body))
}

/// The key and the value in an opened record.
fn split(opened: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = opened.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)
}
