import type { Words } from '../en.ts'

// 文件页的用词。

export const files: Words['files'] = {
  name: '名称',
  size: '大小',
  changed: '修改时间',
  empty: '这里还没有文件',
  emptyHint: '任务写到 /output 的内容会边运行边显示在这里。',
  download: '下载',
  downloadAll: '全部下载（tar）',
  tooLarge: '文件太大，请下载后查看。',
  binary: '不是文本文件，请下载后查看。',
  path: '路径',
  special: '链接或设备，不显示',
}
