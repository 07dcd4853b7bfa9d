// Attention by ONNX Runtime as a contestant of peers.py:
// node peer_onnx.js mha|gqa LENGTH WIDTH HEADS KV_HEADS CAUSAL THREADS, with onnxruntime-node on NODE_PATH.
// mha: MultiHeadAttention, its blocked path when not causal; gqa: GroupQueryAttention, which is always causal.
'use strict';
const ort = require('onnxruntime-node');
const readline = require('readline');

const kind = process.argv[2];
const [length, width, heads, kvHeads, causal, threads] = process.argv.slice(3).map(Number);

// A model is a protocol buffer: fields of a number and either a whole number or bytes (onnx.proto names the fields).
const varint = (value) => {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push(value % 128 + 128);
  return Buffer.from([...bytes, value]);
};
const whole = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const bytes = (field, ...parts) => {
  const content = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
  return Buffer.concat([varint(field * 8 + 2), varint(content.length), content]);
};
const FLOAT = 1, INT32 = 6, INT_ATTRIBUTE = 2;
const valueInfo = (field, name, shape) => bytes(field, bytes(1, name), bytes(2, bytes(1, whole(1, FLOAT),
  bytes(2, ...shape.map((size) => bytes(1, whole(1, size)))))));
const attribute = (name, value) => bytes(5, bytes(1, name), whole(3, value), whole(20, INT_ATTRIBUTE));
const int32s = (name, shape, value) => bytes(5, ...shape.map((size) => whole(1, size)), whole(2, INT32),
  whole(5, value), bytes(8, name));

function model() {
  const inputs = ['q', 'k', 'v'].map((name) => valueInfo(11, name, [1, length, (name === 'q' ? heads : kvHeads) * width]));
  const output = valueInfo(12, 'o', [1, length, heads * width]);
  let node, more = [];
  if (kind === 'mha') {
    node = [...['q', 'k', 'v'].map((name) => bytes(1, name)), bytes(2, 'o'), bytes(4, 'MultiHeadAttention'),
      attribute('num_heads', heads), attribute('unidirectional', causal)];
  } else {
    node = [...['q', 'k', 'v', '', '', 'last', 'total'].map((name) => bytes(1, name)),
      ...['o', 'present_k', 'present_v'].map((name) => bytes(2, name)), bytes(4, 'GroupQueryAttention'),
      attribute('num_heads', heads), attribute('kv_num_heads', kvHeads)];
    more = [int32s('last', [1], length - 1), int32s('total', [], length),
      ...['present_k', 'present_v'].map((name) => valueInfo(12, name, [1, kvHeads, length, width]))];
  }
  const graph = bytes(7, bytes(1, ...node, bytes(7, 'com.microsoft')), bytes(2, 'attention'), ...inputs, output, ...more);
  return Buffer.concat([whole(1, 8), graph, bytes(8, whole(2, 17)), bytes(8, bytes(1, 'com.microsoft'), whole(2, 1))]);
}

function normals(count) {
  const numbers = new Float32Array(count);
  let state = 12345;
  const uniform = () => (state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff, (state + 1) / 2147483649);
  for (let i = 0; i < count; ++i) numbers[i] = Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  return numbers;
}

async function main() {
  const session = await ort.InferenceSession.create(model(),
    { intraOpNumThreads: threads, interOpNumThreads: 1, graphOptimizationLevel: 'all' });
  const tensor = (count) => new ort.Tensor('float32', normals(length * count * width), [1, length, count * width]);
  const feeds = { q: tensor(heads), k: tensor(kvHeads), v: tensor(kvHeads) };
  await session.run(feeds);
  console.log('ready');
  readline.createInterface({ input: process.stdin }).on('line', async () => {
    const cpu = process.cpuUsage();
    const begin = process.hrtime.bigint();
    await session.run(feeds);
    const wall = Number(process.hrtime.bigint() - begin) * 1e-9;
    const used = process.cpuUsage(cpu);
    console.log(`${wall.toFixed(9)} ${((used.user + used.system) * 1e-6).toFixed(9)}`);
  });
}

main();
